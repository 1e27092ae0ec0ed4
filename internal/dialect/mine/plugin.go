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

// A plugin is a mine plugin ready for calls. It has no process but the calls under way and those
// kept ready.
type plugin struct {
	dialect  *Dialect
	manifest *manifest
	dir      string // its own
	program  string
	env      []string
	rt       *dialect.Runtime
	noise    *dialect.NoiseLog
	standby  *proc.Standby                  // nil: none are kept
	greeting sync.WaitGroup                 // init, while it is under way
	farewell sync.Once                      // Close
	health   atomic.Pointer[dialect.Status] // what it last said of its health; nil: it was not asked

	// outdated is set once the plugin has refused the protocol's version. "A plugin that answers an
	// unsupported major protocol version with an error is broken": it is not asked again.
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

// environment: the rulings, "PATH, HOME, the declared env_vars that are set, and
// MINE_CONFIG_DIR/MINE_DATA_DIR when config_read. Nothing else of the host's", and what the
// configuration passes on.
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

// configDir is $XDG_CONFIG_HOME/mine, by default ~/.config/mine.
func configDir(env dialect.Env) string {
	if dir := env.Get("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, Name)
	}
	return env.InHome(".config", Name)
}

// Info is what the manifest declares.
func (p *plugin) Info() dialect.Info { return *p.manifest.info() }

// Hooks are the manifest's, each at the point of its stage.
func (p *plugin) Hooks() []hook.Hook { return p.manifest.wireAll(p.asks) }

// Connect is one of the plugin's stages at another point than its own.
func (p *plugin) Connect(name string, point hook.Point) (hook.Hook, error) {
	return p.manifest.connect(name, point, p.asks)
}

// asks is the call of each of its hooks.
func (p *plugin) asks(t *translation) call {
	return func(ctx context.Context, ev *hook.Event) (hook.Reply, error) { return p.hook(ctx, t, ev) }
}

// hook asks the plugin about one event.
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
	c, err := p.answer(result)
	if err != nil || c == nil {
		return reply, err
	}
	reply.Set, reply.Notes = t.apply(ev.Payload, &shown, c)
	return reply, nil
}

// notify: seed 001, "mine does not read stdout". It is emptied all the same, lest the plugin block
// on it; one byte is the least that can be kept.
func (p *plugin) notify(ctx context.Context, invocation json.RawMessage) error {
	result, err := p.run(ctx, invocation, 1)
	if err != nil {
		return err
	}
	return p.ended(result)
}

func anyMatches(of []registration, command string) bool {
	return slices.ContainsFunc(of, func(r registration) bool { return matches(r.pattern, command) })
}
