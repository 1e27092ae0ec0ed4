package demo

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/command"
	"github.com/patchbay-dev/patchbay/hook"
)

// command plays a wrapped program: git commit, which is simulated.
func (s *show) command(ctx context.Context) error {
	s.part("One command, as `patchbay run -- git commit` takes it through its stages")
	return (&command.Pipeline{Host: &drawing{s}}).Run(ctx, command.Command{Name: "git", Args: []string{"commit", "-m", "tidy up"}}, git{})
}

// captions describes what happens to a command at its points.
var captions = map[hook.Point]string{
	hook.CommandBefore: "Before it runs: a plugin adds an argument",
	hook.CommandAfter:  "After it ran: a plugin rewrites what it printed",
	hook.CommandDone:   "It has ended: every plugin is told, all at once",
}

// drawing is a host that draws every event of a command.
type drawing struct{ *show }

func (d *drawing) Fire(ctx context.Context, p hook.Point, payload any) (*hook.Outcome, error) {
	return d.fire(ctx, captions[p], p, payload)
}

func (d *drawing) Wants(p hook.Point, payload any) bool { return d.host.Wants(p, payload) }

// git simulates the program, because the demo must work without it.
type git struct{}

func (git) Parse(ctx context.Context, c command.Command, then func(context.Context, command.Command) error) error {
	return then(ctx, c)
}

func (git) Execute(_ context.Context, c command.Command, _ bool) (json.RawMessage, error) {
	return json.Marshal(map[string]any{"stdout": "ran: git " + strings.Join(c.Args, " "), "stderr": "", "exit_code": 0})
}

func (git) Show(command.Command) error { return nil }

// object is a payload.
type object map[string]any

// job plays a scheduled job: whether it may run, where its output goes, and which message is sent.
func (s *show) job(ctx context.Context) error {
	s.part("One scheduled job: preflight, sink, notifier")
	job := func(more object) object {
		more["agent"], more["schedule"] = "weekly-report", "weekly"
		return more
	}
	for _, scene := range []struct {
		caption string
		point   hook.Point
		payload object
	}{
		{"May it run? There is room enough", hook.JobPreflight, job(object{"config": object{"need_gb": 1}})},
		{"And if it needs more? The gate refuses, and says what to do", hook.JobPreflight, job(object{"config": object{"need_gb": 500}})},
		{"Its output is stored", hook.JobSink, job(object{"message": "All is well.", "config": object{}})},
		{"And a message is sent", hook.JobNotify, job(object{"event": "success", "message": "weekly-report succeeded", "config": object{}})},
	} {
		if _, err := s.fire(ctx, scene.caption, scene.point, scene.payload); err != nil {
			return err
		}
	}
	return nil
}
