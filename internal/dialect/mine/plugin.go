package mine

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// A plugin is a mine plugin that is ready for calls. It has no processes except those of calls
// under way and of standby.
type plugin struct {
	dialect  *Dialect
	manifest *manifest
	dir      string // the plugin's folder
	program  string
	env      []string
	rt       *dialect.Runtime
	noise    *dialect.NoiseLog
	remarks  dialect.Remarks
	standby  *proc.Standby                  // nil: no processes are started ahead
	greeting sync.WaitGroup                 // waits for the event init
	hung     bool                           // init took too long; may be read after greeting.Wait
	closing  sync.Once                      // runs Close once
	health   atomic.Pointer[dialect.Status] // the result of the last check; nil: there was none

	// outdated is set once the plugin has refused the protocol's version. The plugin is then not
	// called again: docs/protocols/mine.md, row M49.
	outdated atomic.Pointer[errorObject]
}

func newPlugin(d *Dialect, dir string, m *manifest, s dialect.Settings, rt *dialect.Runtime) *plugin {
	p := &plugin{dialect: d, dir: dir, manifest: m, program: filepath.Join(dir, m.entrypoint),
		env: environment(rt.Env, m.permissions.without(s.Withheld), s.Env), rt: rt,
		noise: dialect.NewNoiseLog(func() *slog.Logger { return rt.Log })}
	if s.Standby > 0 {
		p.standby = rt.Procs.Standby(p.spec(), s.Standby)
	}
	return p
}

// environment returns the plugin's environment: docs/protocols/mine.md, row M59. passed lists the
// variables that the configuration adds.
func environment(env dialect.Env, p *permissions, passed []string) []string {
	names := slices.Concat([]string{"PATH", "HOME"}, p.envVars, passed)
	if !p.configRead {
		return env.Pick(names)
	}
	var extra []string
	if dir := configDir(env); dir != "" {
		extra = append(extra, "MINE_CONFIG_DIR="+dir)
	}
	if data := env.DataHome(); data != "" {
		extra = append(extra, "MINE_DATA_DIR="+filepath.Join(data, Name))
	}
	return env.Pick(names, extra...)
}

// configDir returns $XDG_CONFIG_HOME/mine, by default ~/.config/mine.
func configDir(env dialect.Env) string {
	if dir := env.Get("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, Name)
	}
	return env.InHome(".config", Name)
}

// Info returns what the manifest declares.
func (p *plugin) Info() dialect.Info { return *p.manifest.info() }

// Hooks returns the manifest's hooks, each at the point of its stage.
func (p *plugin) Hooks() []hook.Hook { return p.manifest.nativeHooks(p.asks) }

// Connect returns one of the plugin's stages at another point.
func (p *plugin) Connect(name string, point hook.Point) (hook.Hook, error) {
	return p.manifest.connect(name, point, p.asks)
}

// asks is the [caller] of an opened plugin: each call runs its program.
func (p *plugin) asks(t *translation) call {
	return func(ctx context.Context, ev *hook.Event) (hook.Reply, error) { return p.hook(ctx, t, ev) }
}

// hook calls the plugin for one event.
func (p *plugin) hook(ctx context.Context, t *translation, ev *hook.Event) (hook.Reply, error) {
	if said := p.outdated.Load(); said != nil {
		return hook.Reply{}, hook.Failure(hook.Outdated, said)
	}
	shown := t.show(ev.Payload)
	if shown.timestamp == "" {
		shown.timestamp = time.Now().UTC().Format(time.RFC3339)
	}
	reply := hook.Reply{Sent: hookCall(t.stage, &shown)}
	if t.stage == stageNotify {
		return reply, p.notify(ctx, reply.Sent)
	}
	result, err := p.run(ctx, reply.Sent, p.rt.Most(mostStdout))
	if err != nil {
		return reply, err
	}
	reply.Received = received(result.Stdout)
	c, err := p.answer(reply.Sent, result)
	if err != nil {
		return reply, err
	}
	if note := ignoredError(result); note != "" {
		reply.Notes = []string{note}
		p.remarks.Warn(p.rt.Log, "hook", t.stage, reply.Notes)
	}
	if c == nil {
		return reply, nil
	}
	if err := c.check(t, &shown); err != nil {
		return reply, err
	}
	var notes []string
	reply.Set, notes = t.apply(ev.Payload, &shown, c)
	reply.Notes = slices.Concat(reply.Notes, c.notes, notes)
	p.remarks.Warn(p.rt.Log, "hook", t.stage, slices.Concat(c.ignored, notes))
	return reply, nil
}

// notify calls a notify hook, whose stdout is ignored: docs/protocols/mine.md, row M38. The host
// still reads stdout, so that the plugin does not block. It keeps the first KiB for the error
// message, because a plugin that fails may write the reason to stdout instead of stderr.
func (p *plugin) notify(ctx context.Context, invocation json.RawMessage) error {
	result, err := p.run(ctx, invocation, 1<<10)
	if err != nil {
		return err
	}
	return p.ended(invocation, result)
}

func anyMatches(of []registration, command string) bool {
	return slices.ContainsFunc(of, func(r registration) bool { return matches(r.pattern, command) })
}
