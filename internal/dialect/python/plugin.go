package python

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/fixes"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A Plugin is an opened python plugin.
type Plugin interface {
	dialect.Plugin
	// Reload loads the file again. If that fails, the old code stays; the error is a [*LoadError]
	// if the file is at fault.
	dialect.Reloader
	// Metadata returns __plugin__ with its defaults, a JSON object.
	Metadata() json.RawMessage
}

// openTries is how often a plugin is loaded if the interpreter ends each time.
const openTries = 3

// A plugin is a file in the shared interpreter.
type plugin struct {
	dialect *Dialect
	runner  *runner
	rt      *dialect.Runtime
	log     *slog.Logger
	path    string
	name    string        // as declared when it was opened; if it changes, the host opens the plugin again
	limit   time.Duration // for each handler
	strict  bool          // a failure of on_begin must end the event, even if the runner called on_begin before another hook
	pass    []string      // names and patterns of further variables that it gets
	closing sync.Once

	refreshing sync.Mutex  // held while the file is checked for changes
	looked     time.Time   // when that was last done; protected by refreshing
	missing    bool        // the file could not be found or read then; protected by refreshing
	gone       atomic.Bool // the file was removed: the plugin is not called

	mu      sync.Mutex // protects the fields below
	about   description
	file    os.FileInfo // its state when it was last loaded, or failed to load
	fault   error       // why the plugin cannot be called; nil: it can
	hangs   bool        // the file blocked an interpreter while it was loaded
	request string      // the id of the last event's request
}

// A description is what the runner reports about a loaded plugin.
type description struct {
	Name        string          `json:"name"`
	Called      string          `json:"called"` // the name in __plugin__; it differs from Name if it belongs to another file
	Hooks       []string        `json:"hooks"`
	Metadata    json.RawMessage `json:"metadata"`
	Description string          `json:"description"`
	Warnings    []string        `json:"warnings"`
	Fixes       []string        `json:"fixes"` // of the warnings
	owner       string          // the file to which the name in __plugin__ belongs; "": to this one
}

func newPlugin(d *Dialect, r *runner, f dialect.Found, s dialect.Settings, rt *dialect.Runtime) *plugin {
	return &plugin{dialect: d, runner: r, rt: rt, log: rt.Log, path: f.Path, name: f.Name,
		limit: cmp.Or(s.Timeout, handlerLimit), strict: s.MustWork, pass: s.Env}
}

// open loads the file for the first time. Another plugin may end the interpreter meanwhile.
func (p *plugin) open(ctx context.Context) error {
	select {
	case p.runner.loading <- struct{}{}:
		defer func() { <-p.runner.loading }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p.runner.listen(p.name, p)
	err := p.loadAndAdd(ctx)
	if err != nil {
		p.runner.remove(p)
	}
	return err
}

func (p *plugin) loadAndAdd(ctx context.Context) error {
	for try := 1; ; try++ {
		i, err := p.runner.live(ctx, startTimeout)
		if err != nil {
			return err
		}
		err = p.load(ctx, i, methodLoad)
		lost := errors.Is(err, hook.Crash)
		if err == nil {
			p.runner.add(p)
			now, down := p.runner.kept.Get()
			lost = down != nil || now != i
		}
		switch {
		case !lost:
			return err
		case try == openTries:
			return p.ended(err)
		}
	}
}

// ended returns the error of a file whose code ended the interpreter each time it was loaded. It
// returns any other error unchanged.
func (p *plugin) ended(err error) error {
	if !errors.Is(err, hook.Crash) {
		return err
	}
	return stopped(hook.Crash, p.path, place{}, "the code ended the interpreter while it was loaded: "+strings.TrimPrefix(err.Error(), "the process ended: "))
}

// load has the interpreter load the file, and stores the description.
func (p *plugin) load(ctx context.Context, i *interpreter, method string) error {
	file, err := os.Stat(p.path)
	if err != nil {
		return &LoadError{Problem: dialect.Problem{Path: p.path, Message: "cannot be read: " + err.Error()}}
	}
	if !file.Mode().IsRegular() {
		return &LoadError{Problem: dialect.Problem{Path: p.path, Message: "cannot be read: it is not a regular file"}}
	}
	if err := p.vet(); err != nil {
		return err
	}
	if err := p.lend(ctx, i); err != nil {
		return err
	}
	slow := time.AfterFunc(slowLoad, func() {
		p.log.Warn("its file is still being loaded", "limit", p.runner.loadTimeout.String(), "fix", stopFixes[hook.Timeout])
	})
	p.runner.inLoad.Store(true)
	result, err := i.ask(ctx, p.runner.loadTimeout, method, hook.Object{{Name: "path", Value: rawjson.String(p.path)}})
	slow.Stop()
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) && !i.answers(ctx) {
			return p.hung(i, file)
		}
		err = p.withoutOthersStderr(loadFailure(p.path, err, i.process))
	}
	if !errors.Is(err, hook.Crash) {
		p.runner.inLoad.Store(false)
	}
	if err != nil {
		return p.refused(file, err)
	}
	return p.adopt(file, result)
}

// vet returns an error if the file must not be run as it is now. The file is vetted again at the
// next turn, since the user may trust it by then.
func (p *plugin) vet() error {
	if p.rt == nil || p.rt.Vet == nil {
		return nil
	}
	err := p.rt.Vet()
	if err == nil {
		return nil
	}
	return &LoadError{Problem: dialect.Problem{Path: p.path, Message: err.Error(), Fix: fixes.Of(err)}}
}

// lend passes on the variables that the configuration names for this plugin. The interpreter has
// one environment, so the other plugins see them too.
func (p *plugin) lend(ctx context.Context, i *interpreter) error {
	return i.lend(ctx, p.runner.loadTimeout, p.rt.Env.Pick(p.pass))
}

// hung ends an interpreter that is blocked while a file is loaded. A file that blocked it is not
// loaded again until it is changed. If a handler of another plugin blocked it, this plugin has only
// lost its interpreter.
func (p *plugin) hung(i *interpreter, file os.FileInfo) error {
	p.runner.killed.Store(true)
	i.kill()
	at := p.runner.culprit(i.process.Stderr(), p.path)
	if at.path != "" && at.path != p.path {
		p.runner.logOf(at, p).Warn("interpreter was blocked, and is restarted", "at", at.String())
		return hook.Failure(hook.Crash, fmt.Errorf("the interpreter was blocked at %s", at))
	}
	err := tooLong(p.path, at, p.runner.loadTimeout)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.file, p.fault, p.hangs = file, err, true
	return err
}

// refused records the state of a faulty file, so that it is not tried again until it is changed.
func (p *plugin) refused(file os.FileInfo, err error) error {
	if _, ok := errors.AsType[*LoadError](err); ok {
		p.mu.Lock()
		p.file = file
		p.mu.Unlock()
	}
	return err
}

// adopt stores the description of what was loaded.
func (p *plugin) adopt(file os.FileInfo, result json.RawMessage) error {
	var about description
	if err := json.Unmarshal(result, &about); err != nil {
		return hook.Failure(hook.Garbled, fmt.Errorf("the runner's description of %s: %w", p.path, err))
	}
	// A sandboxed interpreter cannot see the other file, and one that loaded this file before may
	// remember what was there then.
	about.Name, about.owner = about.Called, OwnerOf(about.Called, p.path)
	if about.owner != "" {
		if about.Name = stem(p.path); !isName(about.Name) {
			w := Misnamed(p.path, about.Called, about.owner)
			return p.refused(file, &LoadError{Problem: dialect.Problem{Path: p.path, Message: w.Text + ", which is not a valid name", Fix: "change \"name\" in its __plugin__, or rename the file"}})
		}
	}
	p.note(append(about.oddities(), about.misnamed(p.path)...))
	first := p.take(file, about)
	if !first || about.Name == p.name {
		return nil
	}
	p.name = about.Name
	p.runner.listen(p.name, p)
	return p.rename()
}

// longestName is how many characters the name of a plugin may have, as in loader.py.
const longestName = 64

// isName reports whether a plugin may have a name, as loader.py does for the name in __plugin__.
func isName(name string) bool {
	return utf8.ValidString(name) && utf8.RuneCountInString(name) <= longestName && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

// OwnerOf returns the other plugin file in the same directory to which a name belongs, or "". A
// file's name belongs to that file. The name that several files declare belongs to the first of
// them: docs/protocols/python.md, row P19.
func OwnerOf(name, path string) string {
	own := stem(path)
	if name == own {
		return ""
	}
	first := ""
	for _, other := range plugins(filepath.Dir(path)) {
		switch {
		case stem(other) == name:
			return other
		case first == "" && stem(other) < own && declaredIn(other) == name:
			first = other
		}
	}
	return first
}

// take stores a description, and reports whether it is the first.
func (p *plugin) take(file os.FileInfo, about description) (first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first = p.about.Name == ""
	p.about, p.file, p.fault, p.hangs = about, file, nil, false
	return first
}

// rename applies the timeout and on_failure that are configured under the plugin's own name.
// Variables are set under the file's name only.
func (p *plugin) rename() error {
	if p.rt.Settings == nil {
		return nil
	}
	s, err := p.rt.Settings(p.name)
	if err != nil {
		return err
	}
	p.limit, p.strict = cmp.Or(s.Timeout, p.limit), s.MustWork
	return nil
}

// loadAgain loads the file into a new interpreter. It returns an error only if the interpreter is
// unusable; a faulty plugin is marked as such.
func (p *plugin) loadAgain(ctx context.Context, i *interpreter) error {
	p.mu.Lock()
	hangs := p.hangs
	p.mu.Unlock()
	if hangs {
		return nil
	}
	err := p.load(ctx, i, methodLoad)
	if _, ok := errors.AsType[*LoadError](err); ok && !errors.Is(err, hook.Timeout) { // a timeout has ended the interpreter
		p.log.Warn("plugin cannot be loaded again", "err", err)
		p.fail(err)
		return nil
	}
	return err
}

func (p *plugin) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = err
}

// outOfOrder returns why the plugin cannot be called, or nil if it can.
func (p *plugin) outOfOrder() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault
}

func (p *plugin) described() description {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.about
}

// Info returns what the plugin declared when it was last loaded.
func (p *plugin) Info() dialect.Info {
	about := p.described()
	info := dialect.Info{Name: p.name, Description: about.Description, Hooks: slices.Clone(about.Hooks), Priority: hook.DefaultPriority}
	if about.Called != p.name {
		info.Called = about.Called
	}
	if metadata, err := rawjson.Parse(about.Metadata); err == nil {
		info.Version, _ = metadata.String("version")
	}
	return info
}

// Metadata returns __plugin__ with its defaults.
func (p *plugin) Metadata() json.RawMessage { return p.described().Metadata }

// Hooks returns the hooks for which the plugin has handlers.
func (p *plugin) Hooks() []hook.Hook {
	var hooks []hook.Hook
	for i := range native {
		if slices.Contains(p.described().Hooks, native[i].hook) {
			hooks = append(hooks, p.hookOf(&native[i]))
		}
	}
	return hooks
}

// Connect returns one of the plugin's hooks at another point.
func (p *plugin) Connect(name string, point hook.Point) (hook.Hook, error) {
	have := p.described().Hooks
	if !slices.Contains(have, name) {
		return hook.Hook{}, dialect.NoHook(p.name, name, have)
	}
	t, err := connection(name, point)
	if err != nil {
		return hook.Hook{}, err
	}
	return p.hookOf(t), nil
}

// KeepsTime marks the plugin as one whose runner applies the configured timeout; see hookOf.
func (*plugin) KeepsTime() {}

// hookOf returns the hook of a translation. The runner enforces the handler's limit; the hook has a
// little more time, so that the runner can report it.
func (p *plugin) hookOf(t *translation) hook.Hook {
	h := hook.Hook{Name: t.hook, Point: t.point, Timeout: p.limit + grace, Queue: Name, // one after another: docs/protocols/python.md#everything-a-file-can-use
		Call: func(ctx context.Context, ev *hook.Event) (hook.Reply, error) { return p.ask(ctx, t, ev) }}
	if t.match != nil {
		h.Match = func(ev *hook.Event) bool { return t.match(ev.Payload) }
	}
	return h
}

// ask calls the plugin for one event and reads its answer.
func (p *plugin) ask(ctx context.Context, t *translation, ev *hook.Event) (hook.Reply, error) {
	p.refresh(ctx, t.hook == onBegin)
	if p.gone.Load() {
		return hook.Reply{Notes: []string{"its file was removed: it does not act"}}, nil
	}
	if err := p.outOfOrder(); err != nil {
		return hook.Reply{}, hook.Failure(hook.Unavailable, err)
	}
	given := t.given(ev.Payload)
	params := p.params(ctx, t, ev.Payload, given)
	result, err := p.runner.call(ctx, p, t.hook, params)
	if err != nil {
		return hook.Reply{Sent: params}, err
	}
	reply, err := t.reply(ev.Payload, given, result)
	reply.Sent, reply.Received = params, result.JSON
	return reply, err
}

// EndTurn ends the request of a turn, even if no plugin has an on_done: the values that plugins
// left in ctx.state must not reach the next request. One message is enough for all plugins, so only
// the first opened plugin sends it.
func (p *plugin) EndTurn(ctx context.Context) {
	if all := p.runner.opened(); len(all) == 0 || all[0] != p {
		return
	}
	i, err := p.runner.kept.Get()
	if err != nil {
		return // the requests of an interpreter end with it
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	// If an interpreter is blocked or has ended, its next call reports that.
	_ = i.peer.Notify(ctx, notifyOver, hook.Object{text("request", hook.Request(ctx))}.JSON())
}

// Status returns the state of the interpreter, which is the same for all plugins, and of the file.
func (p *plugin) Status() dialect.Status {
	st := dialect.KeptStatus(p.runner.kept)
	if err := p.outOfOrder(); err != nil && st.Err == nil {
		st.Health, st.Err = dialect.HealthFailing, err
	}
	return st
}

// Close unloads the plugin. The last one ends the interpreter.
func (p *plugin) Close(ctx context.Context) error {
	p.closing.Do(func() {
		p.runner.remove(p)
		if i, err := p.runner.kept.Get(); err == nil {
			// An error does not matter: a plugin that is not unloaded is not called any more.
			_, _ = i.ask(ctx, grace, methodUnload, hook.Object{{Name: "path", Value: rawjson.String(p.path)}})
		}
		p.dialect.release(ctx, p.runner)
	})
	return nil
}
