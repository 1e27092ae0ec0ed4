package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/feature"
	"github.com/patchbay-dev/patchbay/internal/journal"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/pythonfile"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// backend returns the core's implementation of each group of routes.
func (c *Core) backend() httpapi.Backend {
	return httpapi.Backend{Sources: sources{c}, Features: features{c}, Sessions: sessions{c}, Turns: turns{c},
		Inspect: inspect{c}, Calls: calls{c}, Plugins: plugins{c}, Events: events{c}, Jobs: jobs{c.Jobs}, Hooks: hooks{c, false}, Daemon: daemonStatus{c},
		Configuration: configuration{c}, Logs: logs{c}, Shapes: shapes()}
}

// sources implements [httpapi.Sources]: the plugins that are files of Python code.
type sources struct{ *Core }

func (s sources) List(ctx context.Context) ([]httpapi.Source, error) {
	list, err := pythonfile.Of(s.Host).List(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]httpapi.Source, 0, len(list))
	for _, one := range list {
		out = append(out, asSource(one))
	}
	return out, nil
}

func (s sources) Get(ctx context.Context, name string) (httpapi.Source, error) {
	one, err := pythonfile.Of(s.Host).Get(ctx, name)
	return asSource(one), sourceError(err)
}

func (s sources) Save(ctx context.Context, name, content string) (httpapi.Source, error) {
	one, err := pythonfile.Of(s.Host).Save(ctx, name, content)
	if err == nil {
		s.post("plugin.saved", "", map[string]string{"name": one.Name, "path": one.Path})
	}
	return asSource(one), sourceError(err)
}

func (s sources) Delete(ctx context.Context, name string) error {
	err := pythonfile.Of(s.Host).Delete(ctx, name)
	if err == nil {
		s.post("plugin.deleted", "", map[string]string{"name": name})
	}
	return sourceError(err)
}

func (s sources) Reload(ctx context.Context, name string) (httpapi.Source, error) {
	one, err := pythonfile.Of(s.Host).Reload(ctx, name)
	return asSource(one), sourceError(err)
}

func (s sources) Validate(ctx context.Context, name, content string) (httpapi.Source, error) {
	one, err := pythonfile.Of(s.Host).Check(ctx, name, content)
	return asSource(one), sourceError(err)
}

// Parse checks code without running it.
func (s sources) Parse(ctx context.Context, content string) (httpapi.SourceCheck, error) {
	err := s.parsers.parse(ctx, pythonfile.Of(s.Host), content)
	if code, ok := errors.AsType[*pythonfile.CodeError](err); ok {
		return httpapi.SourceCheck{Line: code.Problem.Line, Column: code.Problem.Column, Message: code.Problem.Message}, nil
	}
	return httpapi.SourceCheck{OK: err == nil}, sourceError(err)
}

func asSource(s pythonfile.Source) httpapi.Source {
	out := httpapi.Source{Name: s.Name, Path: s.Path, Hooks: s.Hooks, Metadata: s.Metadata, Content: s.Content}
	if s.Err != nil {
		out.Error = s.Err.Error()
	}
	for _, w := range s.Warnings {
		out.Warnings = append(out.Warnings, w.Text)
	}
	if s.NotRun != nil {
		out.Warnings = append(out.Warnings, fmt.Sprintf("its code was parsed, but not run: %v", s.NotRun))
	}
	return out
}

// sourceError translates an error to one that the routes know.
func sourceError(err error) error {
	var code *pythonfile.CodeError
	switch {
	case errors.Is(err, pluginhost.ErrNotFound):
		return httpapi.ErrNoPlugin
	case errors.Is(err, pythonfile.ErrBadName), errors.Is(err, pythonfile.ErrLink):
		return &httpapi.InvalidRequestError{Reason: err.Error()}
	case errors.As(err, &code):
		return &httpapi.InvalidCodeError{Reason: withPlace(code.Problem)}
	case errors.Is(err, hook.Unavailable), isConfigError(err): // for example, patchbay.lock is damaged
		return &httpapi.UnavailableError{Reason: err.Error()}
	}
	return err
}

func isConfigError(err error) bool {
	_, ok := errors.AsType[*config.Error](err)
	return ok
}

// withPlace returns the message of a problem with its line and column. It leaves out the file,
// which the client knows.
func withPlace(p dialect.Problem) string {
	if p.Line == 0 {
		return p.Message
	}
	return fmt.Sprintf("%s (line %d, column %d)", p.Message, p.Line, p.Column)
}

type features struct{ *Core }

func (f features) List(ctx context.Context) ([]feature.Feature, error) { return f.Features.List(ctx) }

func (f features) Get(ctx context.Context, name string) (feature.Feature, error) {
	return f.Features.Get(ctx, name)
}

func (f features) Set(ctx context.Context, name string, enabled bool) (feature.Feature, error) {
	one, err := f.Features.Set(ctx, name, enabled)
	if err == nil {
		f.post("feature.changed", "", one)
	}
	return one, err
}

type sessions struct{ *Core }

func (s sessions) Create(ctx context.Context, r httpapi.SessionRequest) (session.Session, error) {
	dir, err := s.workingDir(r.WorkingDir)
	if err != nil {
		return session.Session{}, err
	}
	if err := s.checkPlugins(ctx, r.Plugins); err != nil {
		return session.Session{}, err
	}
	one, err := s.Sessions.Create(ctx, session.Session{Plugins: r.Plugins, WorkingDir: dir, Title: r.Title, From: session.FromHTTP})
	if err == nil {
		s.post("session.created", one.ID, one)
	}
	return one, err
}

// workingDir returns dir as a clean absolute path, or an error if it is not a directory.
func (s sessions) workingDir(dir string) (string, error) {
	if dir == "" {
		return s.dir, nil
	}
	info, err := os.Stat(dir)
	if !filepath.IsAbs(dir) || err != nil || !info.IsDir() {
		return "", &httpapi.InvalidRequestError{Reason: fmt.Sprintf("working_dir %.200q is not the absolute path of a directory", dir)}
	}
	return filepath.Clean(dir), nil
}

// checkPlugins returns an error if one of the plugins does not exist. It lists the files again,
// because new ones may have been added.
func (s sessions) checkPlugins(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	list, err := pythonfile.Of(s.Host).List(ctx)
	if err != nil {
		return err
	}
	unknown := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(list, func(one pythonfile.Source) bool { return one.Name == name || one.File == name })
	})
	if len(unknown) > 0 {
		return &httpapi.UnknownPluginsError{Names: unknown}
	}
	return nil
}

func (s sessions) List(ctx context.Context) ([]session.Session, error) { return s.Sessions.List(ctx) }

func (s sessions) Page(ctx context.Context, r session.PageRequest) (session.Page, error) {
	return s.Sessions.Page(ctx, r)
}

func (s sessions) Get(ctx context.Context, id string) (session.Session, error) {
	return s.Sessions.Get(ctx, id)
}

func (s sessions) Update(ctx context.Context, id string, u httpapi.SessionUpdate) (session.Session, error) {
	if u.Plugins != nil {
		if err := s.checkPlugins(ctx, *u.Plugins); err != nil {
			return session.Session{}, err
		}
	}
	return s.Sessions.Update(ctx, id, func(one *session.Session) error {
		if u.Title != nil {
			one.Title = *u.Title
		}
		if u.Plugins != nil {
			one.Plugins = *u.Plugins
		}
		return nil
	})
}

// Delete tells the plugins that the session has ended, and then deletes it.
func (s sessions) Delete(ctx context.Context, id string) error {
	one, err := s.Sessions.Get(ctx, id)
	if err != nil {
		return err
	}
	s.running.interrupt(id)
	if err := s.End(ctx, one, one.Plugins); err != nil {
		s.log.Warn("plugins were not told that a session has ended", "session", id, "err", err)
	}
	err = errors.Join(s.Sessions.Delete(ctx, id), s.Journal.Forget(ctx, id))
	if err == nil {
		s.post("session.deleted", "", map[string]string{"id": id})
	}
	return err
}

func (s sessions) Transcript(ctx context.Context, id string) ([]session.Entry, error) {
	return s.Sessions.Transcript(ctx, id)
}

// turns implements [httpapi.Turns]: it runs the agent for sessions over HTTP.
type turns struct{ *Core }

// Run runs one turn of a session. Over HTTP no user can be asked for approval: approver allows
// everything or refuses.
func (t turns) Run(ctx context.Context, id, text string, observe func(kind string, event json.RawMessage)) (json.RawMessage, error) {
	choose, err := t.sessionPlugins(ctx)
	if err != nil {
		return nil, err
	}
	r := TurnRequest{Session: id, Text: text, choose: choose, Approve: t.approver()}
	if observe != nil {
		r.Observe = func(e chat.Event) { t.passEvent(e, observe) }
	}
	result, err := t.Turn(ctx, r)
	if result == nil {
		return nil, turnError(err)
	}
	return json.Marshal(result) // the result contains the error
}

// turnError translates the reason why a turn did not begin: the daemon is stopping, or the
// session's directory or project configuration cannot be used.
func turnError(err error) error {
	switch {
	case errors.Is(err, errStopping):
		return &httpapi.UnavailableError{Reason: errStopping.Error()}
	case is[*NoDirectoryError](err), is[*config.Error](err): // a config.Error is about the project's own file
		return &httpapi.InvalidRequestError{Reason: err.Error()}
	}
	return err
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func (t turns) approver() chat.Approver {
	switch t.Config().Chat.Approve {
	case config.ApproveAsk:
		return Deny("the configuration says to ask before things are changed, and over HTTP there is no user to ask")
	case config.ApproveDeny:
		return Deny("the configuration does not allow tools that change things")
	}
	return nil
}

func (t turns) passEvent(e chat.Event, observe func(string, json.RawMessage)) {
	data, err := encodeEvent(e)
	if err != nil {
		t.log.Warn("cannot stream an event", "event", e.Type, "session", e.Session, "err", err)
		return
	}
	observe(string(e.Type), data)
}

func (t turns) Interrupt(ctx context.Context, id string) (bool, error) {
	if _, err := t.Sessions.Get(ctx, id); err != nil {
		return false, err
	}
	return t.running.interrupt(id), nil
}

// calls implements [httpapi.Calls]: calling one tool and firing one point by hand.
type calls struct{ *Core }

func (c calls) CallTool(ctx context.Context, name string, arguments json.RawMessage, trace bool) (httpapi.ToolResult, error) {
	if err := c.checkArguments(name, arguments); err != nil {
		return httpapi.ToolResult{}, err
	}
	r, step, err := c.Host.TraceTool(ctx, name, arguments)
	switch {
	case errors.Is(err, pluginhost.ErrNotFound):
		return httpapi.ToolResult{}, httpapi.ErrNoTool
	case trace && step != nil:
		return tracedTool(name, r, step, err)
	case err != nil:
		return httpapi.ToolResult{}, err
	}
	return ToolAnswer(r), nil
}

// tracedTool returns the answer to a tool call together with the plugin's step. If the call failed,
// r is nil, and the step contains err too.
func tracedTool(name string, r *pluginhost.ToolResult, step *hook.Step, err error) (httpapi.ToolResult, error) {
	out := httpapi.ToolResult{Tool: name}
	if r != nil {
		out = ToolAnswer(r)
	}
	if err != nil {
		text := err.Error()
		out.Error = &text
	}
	view, err := viewStep(step)
	out.Step = &view
	return out, err
}

// ToolAnswer returns a tool's result in the form that other programs get.
func ToolAnswer(r *pluginhost.ToolResult) httpapi.ToolResult {
	out := httpapi.ToolResult{Tool: r.Tool, Success: r.Success, Result: r.Result}
	if !r.Success {
		out.Error = &r.Error
	}
	return out
}

// checkArguments returns an error if the arguments do not fit the tool's schema, as `tool call`
// does. It accepts every argument for a tool that does not exist.
func (c calls) checkArguments(name string, arguments json.RawMessage) error {
	for _, t := range c.Host.Tools() {
		if t.Name != name {
			continue
		}
		if wrong := pluginhost.Misfits(t, arguments); len(wrong) > 0 {
			return &httpapi.InvalidRequestError{Reason: fmt.Sprintf("Tool %s does not take these arguments: %s", name, strings.Join(wrong, "; "))}
		}
	}
	return nil
}

func (c calls) Fire(ctx context.Context, point hook.Point, data json.RawMessage, trace bool) (httpapi.Outcome, error) {
	out, err := c.Host.Fire(ctx, point, data)
	switch {
	case errors.Is(err, hook.ErrUnknownPoint), errors.Is(err, hook.ErrBadPayload):
		return httpapi.Outcome{}, &httpapi.InvalidRequestError{Reason: err.Error()}
	case out == nil:
		return httpapi.Outcome{}, err
	case trace:
		return viewOutcome(out.Trace())
	}
	return viewOutcome(out) // the steps of the outcome contain the error
}

// events implements [httpapi.Events] with the journal.
type events struct{ *Core }

func (e events) Range(ctx context.Context) (first, last uint64, err error) {
	if first, err = e.Journal.First(ctx); err != nil {
		return 0, 0, err
	}
	last, err = e.Journal.Last(ctx)
	return first, last, err
}

func (e events) Follow(ctx context.Context, f httpapi.EventFilter, each func(httpapi.Event) error) error {
	return e.Journal.Follow(ctx, f.After, journal.Filter{Session: f.Session}, func(one journal.Event) error {
		return each(httpapi.Event{ID: one.Sequence, Kind: one.Kind, Data: one.Data})
	})
}
