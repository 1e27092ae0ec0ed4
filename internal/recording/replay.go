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

// ReplayOptions say against what a recording is played, and what counts as a difference.
type ReplayOptions struct {
	Host   *pluginhost.Host
	Heard  *Ear     // hears what goes through Host
	Plugin string   // play the traffic of this plugin alone; "": of all
	As     string   // the name that the plugin has now; "": the same
	Ignore []string // fields, or JSON pointers into a step
	Exact  bool     // times and generated ids count too
}

// A Report is what a replay came to.
type Report struct {
	OK          bool         `json:"ok"`
	Played      int          `json:"played"`  // calls of plugins
	Skipped     int          `json:"skipped"` // calls that were not played: other plugins', or of plugins and hooks that are gone
	Differences []Difference `json:"differences"`
	Notes       []string     `json:"notes"`
}

// A Difference is one call of a plugin that did not go as it was recorded.
type Difference struct {
	N       int           `json:"n"` // of the entry in the recording
	Type    string        `json:"type"`
	Point   hook.Point    `json:"point,omitempty"`
	Plugin  string        `json:"plugin"`
	Dialect string        `json:"dialect"`
	Name    string        `json:"name"`              // the hook, tool, method or command
	Problem string        `json:"problem,omitempty"` // why it was not played: the plugin or its hook is gone
	Changes []hook.Change `json:"changes,omitempty"` // old is recorded, new is now
}

// A call is one question to one plugin.
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

// calls are all of a recording in the order in which they began: a plugin that keeps state sees
// them as it did then.
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

// Named are the plugins that a recording has traffic of.
func (r *Recording) Named() []string {
	var names []string
	for _, c := range r.calls() {
		if name, _ := c.plugin(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Replay asks plugins again what they were asked in a recording, one call after another. The error
// is that of a context that ended.
func Replay(ctx context.Context, r *Recording, o ReplayOptions) (*Report, error) {
	p := &player{ReplayOptions: o, recording: r, gone: make(map[string]bool), now: time.Now(),
		report: &Report{Differences: []Difference{}, Notes: []string{}}}
	p.comparer, p.there = p.comparing(), p.present()
	p.remark()
	for _, c := range r.calls() {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		p.play(ctx, c)
	}
	p.report.OK = len(p.report.Differences) == 0
	return p.report, nil
}

// A player is a replay under way.
type player struct {
	ReplayOptions
	recording *Recording
	comparer  *comparer
	gone      map[string]bool   // what was told to be gone
	there     map[string]string // the plugins that are there, by dialect and name, and why each does not work
	now       time.Time
	report    *Report
}

// comparing makes both sides alike in what is particular about each: paths, and secrets.
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

// remark notes what a reader of the report should know.
func (p *player) remark() {
	if n := p.recording.LeftOut; n > 0 {
		p.note("%d events or calls were left out of the recording, most because they were too long, and are not played", n)
	}
	if p.recording.Cut != "" {
		p.note("the recording is not whole: %s", p.recording.Cut)
	}
	if p.recording.Interrupted {
		p.note("the recorded command was interrupted")
	}
}

func (p *player) note(format string, args ...any) {
	p.report.Notes = append(p.report.Notes, fmt.Sprintf(format, args...))
}

// play plays one call and keeps how it differs.
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
		p.lose(d, problem, name)
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
		p.lose(d, "it no longer has this "+noun(&d), d.Plugin+"/"+string(d.Point)+"/"+d.Name)
		return
	case err != nil:
		d.Problem = p.comparer.scrub.text(err.Error())
	}
	p.report.Played++
	if d.Problem != "" || len(d.Changes) > 0 {
		p.report.Differences = append(p.report.Differences, d)
	}
}

// lose keeps that a plugin, or what it offered, is gone: once.
func (p *player) lose(d Difference, problem, key string) {
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

// present are the plugins that are there now, with why each does not work; "": it does.
func (p *player) present() map[string]string {
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

// missing tells why a plugin cannot be asked; "": it can.
func (p *player) missing(name, dialect string) string {
	why, ok := p.there[dialect+":"+p.today(name)]
	if !ok {
		return "there is no such plugin"
	}
	return why
}

// today is the name that a plugin of the recording has now.
func (p *player) today(name string) string {
	if p.As != "" && name == p.Plugin {
		return p.As
	}
	return name
}

// step asks one hook what it was asked then.
func (p *player) step(ctx context.Context, c call) ([]hook.Change, error) {
	payload := c.entry.Payload
	if c.step.Given != nil {
		payload = c.step.Given
	}
	which := pluginhost.Which{Point: c.entry.Point, Plugin: p.today(c.step.Plugin), Dialect: c.step.Dialect, Hook: c.step.Hook, Nth: c.step.Nth}
	out, err := p.Host.Ask(ctx, which, payload)
	switch {
	case out == nil:
		return nil, err
	case len(out.Steps) == 0:
		return nil, errors.New("it is not asked about this event any more: its hook is for others")
	}
	now := newStep(&out.Steps[0], p.comparer.scrub)
	now.Error = p.renamed(now.Error)
	return p.comparer.step(c.step, &now), nil
}

// renamed has an error name the plugin as the recording does.
func (p *player) renamed(text string) string {
	if p.As == "" || p.As == p.Plugin {
		return text
	}
	return strings.ReplaceAll(text, "plugin "+p.As+" ", "plugin "+p.Plugin+" ")
}

// An Ear keeps the last call that went through a host. Its Hear is the host's Record; calls are
// made one at a time.
type Ear struct{ last *pluginhost.Traffic }

// Hear is told of a call.
func (e *Ear) Hear(t *pluginhost.Traffic) { e.last = t }

// call calls a tool, a method or a command again.
func (p *player) call(ctx context.Context, e *Entry) ([]hook.Change, error) {
	p.Heard.last = nil
	err := p.ask(ctx, e)
	if p.Heard.last == nil {
		return nil, err
	}
	entry := newEntry(p.Heard.last, p.now, p.comparer.scrub)
	entry.Error = p.renamed(entry.Error)
	return p.comparer.call(e, &entry), nil
}

func (p *player) ask(ctx context.Context, e *Entry) error {
	switch pluginhost.TrafficKind(e.Type) {
	case pluginhost.ToolTraffic:
		_, err := p.Host.CallTool(ctx, strings.Replace(e.Name, e.Plugin, p.today(e.Plugin), 1), e.Input)
		return err
	case pluginhost.MethodTraffic:
		_, err := p.Host.CallMethod(ctx, e.Dialect+":"+p.today(e.Plugin), e.Name, e.Input)
		return err
	}
	var args []string
	if err := json.Unmarshal(e.Input, &args); err != nil {
		return fmt.Errorf("the recorded arguments: %w", err)
	}
	_, err := p.Host.RunCommand(ctx, e.Dialect+":"+p.today(e.Plugin), pluginhost.Command{Name: e.Name, Args: args})
	return err
}
