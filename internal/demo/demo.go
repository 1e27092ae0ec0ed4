package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// Options say how the demo is shown.
type Options struct {
	Out    io.Writer
	Color  bool
	Width  int    // columns; 0: 80
	JSON   bool   // print one line of JSON for each scene instead of the drawing
	Self   string // the command that starts patchbay; "": it is not installed
	Logger *slog.Logger
	Record func(*pluginhost.Traffic) // called with the traffic of the plugins; may be nil
}

// Run plays the demo. It leaves no files behind.
func Run(ctx context.Context, o Options) error {
	stage, err := SetUp()
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer stage.Remove()
	options := stage.Options(o.Logger)
	options.Record = o.Record
	host, err := pluginhost.Open(ctx, options)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer host.Close()
	s := &show{Options: o, host: host, dir: stage.home.project()}
	if err := s.introducePlugins(); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	for _, part := range []func(context.Context) error{s.turn, s.command, s.job} {
		if err := part(hook.WithRequest(ctx, "demo")); err != nil {
			return fmt.Errorf("demo: %w", err)
		}
	}
	s.printNextSteps()
	return nil
}

// A Stage is a temporary home with the sample plugins, for use without the demo.
type Stage struct{ home home }

// SetUp creates a stage. The caller removes it.
func SetUp() (*Stage, error) {
	h, err := makeHome()
	return &Stage{h}, err
}

// Options returns the options of a host with only the sample plugins.
func (s *Stage) Options(log *slog.Logger) *pluginhost.Options {
	return &pluginhost.Options{Environ: s.home.environ(), Dir: s.home.project(), Logger: log,
		Needs: func(c pluginhost.Candidate) bool { return s.home.owns(c.Path) }}
}

// Remove deletes the stage.
func (s *Stage) Remove() { os.RemoveAll(s.home.root) }

// A show is a demo in progress.
type show struct {
	Options
	host   *pluginhost.Host
	dir    string // the working directory of the agent
	scenes int    // the number of scenes so far
}

// introducePlugins prints the plugins. They are our own, so a plugin that is not ready is an error.
func (s *show) introducePlugins() error {
	plugins := s.host.Plugins()
	s.say("Patchbay found %d plugins and started them:\n\n", len(plugins))
	for _, p := range plugins {
		if p.Error != nil {
			return fmt.Errorf("sample plugin %s: %s", p.Name, *p.Error)
		}
		s.say("  %-14s %-9s %s\n", p.Name, p.Dialect, cmp.Or(p.Description, "For jobs: "+strings.Join(p.Kinds, ", ")))
	}
	if !hasPython() {
		s.say("\nThis machine has no python3, so there is no plugin of the python dialect.\n")
	}
	return nil
}

// part prints the heading of a part of the show.
func (s *show) part(text string) { s.say("\n%s\n", render.Bold("— "+text+" —", s.Color)) }

// fire plays one scene: an event at a point, drawn as its trace.
func (s *show) fire(ctx context.Context, caption string, p hook.Point, payload any) (*hook.Outcome, error) {
	out, err := s.host.Fire(ctx, p, payload)
	if err != nil {
		return nil, err
	}
	return out, s.draw(caption, out)
}

func (s *show) draw(caption string, out *hook.Outcome) error {
	if len(out.Steps) == 0 {
		return nil // no plugin was called, so there is nothing to show
	}
	if s.JSON {
		return json.NewEncoder(s.Out).Encode(out.Trace())
	}
	s.title(caption)
	return render.Trace(s.Out, out, render.Options{Color: s.Color, Width: s.Width})
}

func (s *show) title(caption string) {
	s.scenes++
	s.say("\n%s\n", render.Bold(fmt.Sprintf("%d. %s", s.scenes, caption), s.Color))
}

func (s *show) say(format string, args ...any) {
	if !s.JSON {
		fmt.Fprintf(s.Out, format, args...)
	}
}

func (s *show) printNextSteps() {
	s.say("\nYou saw %d plugins in %d dialects. None of them knows of the others. Next:\n\n", len(s.host.Plugins()), s.dialects())
	self := s.Self
	if self == "" {
		self = "patchbay"
		s.say("  %-24s  install patchbay into $(go env GOPATH)/bin\n", "go install ./cmd/...")
	}
	s.say("  %-24s  the agent, with your own plugins\n", self+" chat")
	s.say("  %-24s  the plugins you already have\n", self+" plugin list")
	s.say("  %-24s  every point that a plugin can hook\n", self+" fire --list")
	s.say("  %-24s  what is wrong, and how to fix it\n", self+" doctor")
}

func (s *show) dialects() int {
	seen := make(map[string]bool)
	for _, p := range s.host.Plugins() {
		seen[p.Dialect] = true
	}
	return len(seen)
}
