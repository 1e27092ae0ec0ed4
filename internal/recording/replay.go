package recording

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// ReplayOptions are the options of [Replay].
type ReplayOptions struct {
	Host   *pluginhost.Host
	Last   *LastCall // holds the last call of Host
	Plugin string    // play only the traffic of this plugin; "": of all
	As     string    // the current name of the plugin; "": the same
	Ignore []string  // fields, or JSON pointers into a step
	Exact  bool      // times and generated ids count too
}

// A Report is the result of a replay.
type Report struct {
	OK          bool         `json:"ok"`
	Played      int          `json:"played"`  // calls of plugins
	Skipped     int          `json:"skipped"` // calls that were not played: of other plugins, or of plugins and hooks that no longer exist
	Differences []Difference `json:"differences"`
	Notes       []string     `json:"notes"`
}

// A Difference is one call of a plugin that did not go as recorded.
type Difference struct {
	N       int           `json:"n"` // of the entry in the recording
	Type    string        `json:"type"`
	Point   hook.Point    `json:"point,omitempty"`
	Plugin  string        `json:"plugin"`
	Dialect string        `json:"dialect"`
	Name    string        `json:"name"`              // the hook, tool, method or command
	Problem string        `json:"problem,omitempty"` // why nothing was compared, for example: the plugin no longer exists
	Changes []hook.Change `json:"changes,omitempty"` // old is recorded, new is current
}

// A call is one call of one plugin.
type call struct {
	at    int64
	entry *Entry
	step  *Step // nil: a tool, a method or a command
}

func (c *call) plugin() (name, dialect string) {
	if c.step != nil {
		return c.step.Plugin, c.step.Dialect
	}
	return c.entry.Plugin, c.entry.Dialect
}

// calls returns all calls of a recording in the order in which they began, so that a plugin with
// state sees the same sequence.
func (r *Recording) calls() []call {
	var all []call
	for i := range r.Entries {
		e := &r.Entries[i]
		if e.Type != string(pluginhost.EventTraffic) {
			all = append(all, call{e.AtUS, e, nil})
		}
		for j := range e.Steps {
			all = append(all, call{e.Steps[j].AtUS, e, &e.Steps[j]})
		}
	}
	slices.SortStableFunc(all, func(a, b call) int { return cmp.Compare(a.at, b.at) })
	return all
}

// PluginNames returns the names of the plugins that were called in a recording.
func (r *Recording) PluginNames() []string {
	var names []string
	for _, c := range r.calls() {
		if name, _ := c.plugin(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Replay repeats the calls of a recording, one after another. It returns an error only if ctx ends.
func Replay(ctx context.Context, r *Recording, o ReplayOptions) (*Report, error) {
	p := &player{ReplayOptions: o, recording: r, gone: make(map[string]bool), now: time.Now(),
		report: &Report{Differences: []Difference{}, Notes: []string{}}}
	p.comparer = p.comparing()
	p.there = p.existing() // its texts are scrubbed by the comparer
	p.addNotes()
	for _, c := range r.calls() {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		p.play(ctx, c)
	}
	p.report.OK = len(p.report.Differences) == 0
	return p.report, nil
}

// A player is a running replay.
type player struct {
	ReplayOptions
	recording *Recording
	comparer  *comparer
	gone      map[string]bool   // plugins and hooks already reported as gone
	there     map[string]string // by dialect and name: why an existing plugin does not work, or ""
	now       time.Time
	report    *Report
}

// comparing returns a comparer that makes paths and secrets of both sides equal.
func (p *player) comparing() *comparer {
	paths := map[string]string{p.recording.Dir: "{dir}", p.recording.Home: "{home}", p.Host.Dir(): "{dir}", p.Host.Home(): "{home}"}
	for _, e := range p.recording.Entries {
		if e.Dir != "" {
			paths[e.Dir] = "{dir}"
		}
	}
	for _, plugin := range p.recording.Plugins {
		paths[plugin.Path] = "{plugin " + plugin.Name + "}"
	}
	for _, plugin := range p.Host.Plugins() {
		name := plugin.Name
		if name == p.As {
			name = p.Plugin
		}
		paths[plugin.Path] = "{plugin " + name + "}"
	}
	var ignore []ignored
	for _, text := range p.Ignore {
		ignore = append(ignore, parseIgnored(text))
	}
	return &comparer{scrub: newScrubber(p.Host.Hidden().Texts), normal: normal{exact: p.Exact, ignore: ignore, places: places(paths)}}
}

// addNotes adds notes for the reader of the report.
func (p *player) addNotes() {
	if n := p.recording.LeftOut; n > 0 {
		p.note("%d events or calls are missing from the recording, for example because they were too long: they are not played", n)
	}
	if p.recording.Cut != "" {
		p.note("the recording is incomplete: %s", p.recording.Cut)
	}
	if p.recording.Interrupted {
		p.note("the recorded command was interrupted")
	}
}

func (p *player) note(format string, args ...any) {
	p.report.Notes = append(p.report.Notes, fmt.Sprintf(format, args...))
}

// play plays one call and adds its differences.
func (p *player) play(ctx context.Context, c call) {
	name, dialect := c.plugin()
	if p.Plugin != "" && name != p.Plugin {
		p.report.Skipped++
		return
	}
	d := Difference{N: c.entry.N, Type: c.entry.Type, Point: c.entry.Point, Plugin: name, Dialect: dialect, Name: c.entry.Name}
	if c.step != nil {
		d.Name = c.step.Hook
	}
	if problem := p.missing(name, dialect); problem != "" {
		p.reportGone(d, problem, name)
		return
	}
	ctx = hook.WithRequest(hook.WithSession(ctx, c.entry.Session), c.entry.Request)
	var err error
	if c.step != nil {
		d.Changes, err = p.step(ctx, c)
	} else {
		d.Changes, err = p.call(ctx, c.entry)
	}
	switch {
	case errors.Is(err, pluginhost.ErrNotFound):
		p.reportGone(d, "it no longer has this "+noun(&d), d.Plugin+"/"+string(d.Point)+"/"+d.Name)
		return
	case err != nil:
		d.Problem = p.comparer.scrub.text(err.Error())
	}
	p.report.Played++
	if d.Problem != "" || len(d.Changes) > 0 {
		p.report.Differences = append(p.report.Differences, d)
	}
}

// reportGone reports once that a plugin, or its hook, no longer exists.
func (p *player) reportGone(d Difference, problem, key string) {
	p.report.Skipped++
	if !p.gone[key] {
		p.gone[key] = true
		d.Problem = problem
		p.report.Differences = append(p.report.Differences, d)
	}
}

func noun(d *Difference) string {
	if d.Type == string(pluginhost.EventTraffic) {
		return "hook"
	}
	return d.Type
}

// existing returns the existing plugins, with why each does not work, or "".
func (p *player) existing() map[string]string {
	all := make(map[string]string)
	for _, found := range p.Host.Plugins() {
		why := ""
		if found.Error != nil {
			why = "the plugin does not work: " + p.comparer.scrub.text(*found.Error)
		}
		all[found.Dialect+":"+found.Name] = why
	}
	return all
}

// missing returns why a plugin cannot be asked, or "".
func (p *player) missing(name, dialect string) string {
	why, ok := p.there[dialect+":"+p.currentName(name)]
	if !ok {
		return "there is no such plugin"
	}
	return why
}

// currentName returns the current name of a recorded plugin.
func (p *player) currentName(name string) string {
	if p.As != "" && name == p.Plugin {
		return p.As
	}
	return name
}

// step asks one hook with the recorded payload.
func (p *player) step(ctx context.Context, c call) ([]hook.Change, error) {
	payload := c.entry.Payload
	if c.step.Given != nil {
		payload = c.step.Given
	}
	which := pluginhost.Which{Point: c.entry.Point, Plugin: p.currentName(c.step.Plugin), Dialect: c.step.Dialect, Hook: c.step.Hook, Nth: c.step.Nth}
	out, err := p.Host.Ask(ctx, which, payload)
	switch {
	case out == nil:
		return nil, err
	case len(out.Steps) == 0:
		return nil, errors.New("its hook is no longer called for this event")
	}
	now := newStep(&out.Steps[0], p.comparer.scrub)
	now.Error = p.renamed(now.Error)
	return p.comparer.step(c.step, &now), nil
}

// renamed replaces a plugin's current name in an error by its recorded one.
func (p *player) renamed(text string) string {
	if p.As == "" || p.As == p.Plugin {
		return text
	}
	return strings.ReplaceAll(text, "plugin "+p.As+" ", "plugin "+p.Plugin+" ")
}

// A LastCall holds the last call of a host. Its Record is the Record function of the host's
// options. Calls are made one at a time.
type LastCall struct{ traffic *pluginhost.Traffic }

// Record stores a call.
func (l *LastCall) Record(t *pluginhost.Traffic) { l.traffic = t }

// call repeats a call of a tool, a method or a command.
func (p *player) call(ctx context.Context, e *Entry) ([]hook.Change, error) {
	p.Last.traffic = nil
	err := p.ask(ctx, e)
	if p.Last.traffic == nil {
		return nil, err
	}
	entry := newEntry(p.Last.traffic, p.now, p.comparer.scrub)
	entry.Error = p.renamed(entry.Error)
	return p.comparer.call(e, &entry), nil
}

func (p *player) ask(ctx context.Context, e *Entry) error {
	switch pluginhost.TrafficKind(e.Type) {
	case pluginhost.ToolTraffic:
		_, err := p.Host.CallTool(ctx, strings.Replace(e.Name, e.Plugin, p.currentName(e.Plugin), 1), e.Input)
		return err
	case pluginhost.MethodTraffic:
		_, err := p.Host.CallMethod(ctx, e.Dialect+":"+p.currentName(e.Plugin), e.Name, e.Input)
		return err
	}
	var args []string
	if err := json.Unmarshal(e.Input, &args); err != nil {
		return fmt.Errorf("the recorded arguments: %w", err)
	}
	_, err := p.Host.RunCommand(ctx, e.Dialect+":"+p.currentName(e.Plugin), pluginhost.Command{Name: e.Name, Args: args})
	return err
}
