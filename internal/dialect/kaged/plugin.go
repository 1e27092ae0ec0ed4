package kaged

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// The compiler checks that the types have the methods of the interfaces that the host looks for.
var (
	_ dialect.Plugin       = (*plugin)(nil)
	_ dialect.ToolCaller   = (*plugin)(nil)
	_ dialect.MethodCaller = (*plugin)(nil)
	_ dialect.Connector    = (*plugin)(nil)
	_ dialect.Examiner     = (*Dialect)(nil)

	_ dialect.SettingsChecker = (*Dialect)(nil)
	_ dialect.Reconfigurer    = (*plugin)(nil)
	_ dialect.Notifier        = (*plugin)(nil)
)

// A plugin is an opened kaged plugin.
type plugin struct {
	dialect  *Dialect
	dir      string // its directory, in which it runs
	manifest *Manifest
	settings dialect.Settings
	operator string // the user that the host runs as
	session  string // the session id of calls by hand in the host's project
	rt       *dialect.Runtime
	log      *slog.Logger
	noise    *dialect.NoiseLog

	kept          *proc.Kept[*link] // the current process
	storage       *storage
	notifications *notifications

	given    atomic.Pointer[dialect.Settings] // the configuration for the next process
	load     load                             // the calls under way, without those for health
	gate     gate                             // calls wait here while the process is replaced
	renewing sync.Mutex                       // held while the process is replaced

	closing atomic.Bool        // Close has begun
	calm    context.CancelFunc // ends the health checks
	beating sync.WaitGroup     // waits for the goroutine of the health checks
}

func newPlugin(d *Dialect, dir string, m *Manifest, s dialect.Settings, rt *dialect.Runtime) *plugin {
	granted := s.Grants
	if granted == nil {
		granted = m.Capabilities
	}
	p := &plugin{dialect: d, dir: dir, manifest: m, settings: s, rt: rt, log: rt.Log,
		operator:      cmp.Or(rt.Env.Get("USER"), "local"),
		session:       projectSession(rt.ProjectRoot),
		noise:         dialect.NewNoiseLog(func() *slog.Logger { return rt.Log }),
		notifications: &notifications{log: rt.Log, declared: m.Notifications, pass: rt.Notify},
		storage: &storage{
			log:   rt.Log,
			store: rt.Storage,
			read:  slices.Contains(granted, capability.Capability{Kind: capability.StorageRead}),
			write: slices.Contains(granted, capability.Capability{Kind: capability.StorageWrite}),

			declared: capabilityNames(m.Capabilities),
			withheld: s.Withheld,
			listed:   s.Listed,
			place:    filepath.Base(dir),
		},
	}
	p.given.Store(&s)
	return p
}

// open starts the plugin for the first time, and keeps it running.
func (p *plugin) open(ctx context.Context) error {
	p.noise.Starting(p.rt.Odd)
	defer p.noise.Started()
	kept, err := proc.Keep(ctx, proc.KeepOptions[*link]{
		Open:  p.connect,
		Close: (*link).close,
		OnExit: func(exit proc.Exit, stderr string) {
			p.log.Warn("plugin ended", "exit", exit.String(), "stderr", hook.ReasonLine(stderr))
		},
		OnRetry:   func(err error) { p.log.Warn("plugin cannot be restarted yet", "err", err) },
		OnRestart: func(n int) { p.log.Info("plugin restarted", "restarts", n) },
	})
	if err != nil {
		return err
	}
	p.kept = kept
	p.watch(context.WithoutCancel(ctx))
	return nil
}

// watch pings the plugin until it is closed.
func (p *plugin) watch(ctx context.Context) {
	ctx, p.calm = context.WithCancel(ctx)
	h := &heart{every: p.manifest.HealthInterval, within: p.dialect.health, gate: &p.gate, ping: p.ping, busy: p.load.ended, lost: p.lost}
	p.beating.Go(func() { h.beat(ctx) })
}

// ping asks for health.
func (p *plugin) ping(ctx context.Context) error {
	_, err := p.send(ctx, methodHealth, emptyObject, false)
	return err
}

// lost restarts a plugin that runs but has not answered health.check.
func (p *plugin) lost(err error) {
	if l, err := p.kept.Get(); err == nil {
		l.silent.Store(true)
	}
	reason := p.silence()
	p.log.Warn("plugin is restarted", "reason", reason, "err", inPlainWords(err), "fix", healthFix)
	p.kept.Restart(reason)
}

// silence returns the reason why a plugin that did not answer health.check is restarted.
func (p *plugin) silence() string {
	return fmt.Sprintf("no answer to %s within %s", methodHealth, p.dialect.health)
}

// healthFix says what the author of a plugin that did not answer health.check can do.
const healthFix = "answer health.check at once, even while a call is under way; it is sent every health_interval_sec"

// Info returns what the manifest declares.
func (p *plugin) Info() dialect.Info { return *infoOf(p.manifest) }

// Hooks returns the hooks of the manifest, at their own points.
func (p *plugin) Hooks() []hook.Hook {
	var hooks []hook.Hook
	for i := range native {
		if slices.Contains(p.manifest.Hooks, native[i].hook) {
			hooks = append(hooks, p.hook(&native[i]))
		}
	}
	return hooks
}

// Connect returns one of the plugin's hooks at another point.
func (p *plugin) Connect(name string, point hook.Point) (hook.Hook, error) {
	if !slices.Contains(p.manifest.Hooks, name) {
		return hook.Hook{}, dialect.NoHook(p.manifest.Name, name, p.manifest.Hooks)
	}
	w, err := connection(name, point)
	if err != nil {
		return hook.Hook{}, err
	}
	return p.hook(w), nil
}

func (p *plugin) hook(w *translation) hook.Hook {
	h := hook.Hook{Plugin: p.manifest.Name, Dialect: Name, Name: w.hook, Point: w.point,
		Priority: hook.DefaultPriority, Timeout: cmp.Or(p.settings.Timeout, p.manifest.HookTimeout),
		Observer: w.hook == "on_session_idle" && w.point == hook.TurnFinal} // the answer of this hook is null
	if w.point == hook.CompactBefore && !p.manifest.Compactor() {
		observer := *w
		observer.answer = observed
		w, h.Observer = &observer, true
	}
	method := hookPrefix + w.hook
	h.Call = func(ctx context.Context, ev *hook.Event) (hook.Reply, error) { return p.ask(ctx, w, method, ev) }
	return h
}

// ask calls the plugin for one event and reads its answer.
func (p *plugin) ask(ctx context.Context, w *translation, method string, ev *hook.Event) (hook.Reply, error) {
	sessionID, _ := ev.Payload.String("session_id")
	sessionID = cmp.Or(sessionID, hook.Session(ctx))
	root, _ := ev.Payload.String("project_root")
	about := p.callContext(sessionID, root)
	asked := w.ask(ev.Payload)
	if p.settings.TextMessages {
		asked = withTexts(asked)
	}
	params := about.beside(asked)
	result, err := p.call(ctx, method, params, true)
	if err != nil {
		return hook.Reply{Sent: params}, err
	}
	reply, err := w.read(result, ev.Payload)
	reply.Sent, reply.Received = params, result.JSON
	return reply, err
}

// Status returns the state of the plugin.
func (p *plugin) Status() dialect.Status {
	st := dialect.KeptStatus(p.kept)
	st.Notifications, st.NotificationsDropped = p.notifications.passed.Load(), p.notifications.dropped.Load()
	return st
}

// Notifications returns the last notifications of the plugin, oldest first.
func (p *plugin) Notifications() []dialect.Notification { return p.notifications.all() }

// Close sends shutdown and ends the process. It takes little more than shutdown_timeout_sec. Calls
// under way end with an error.
func (p *plugin) Close(ctx context.Context) error {
	p.closing.Store(true)
	p.calm()
	p.beating.Wait()
	p.kept.Stop(func(l *link, _ *proc.Process) {
		began := time.Now()
		exit, answer := l.shutDown(ctx, p.manifest.ShutdownTimeout)
		if answer != nil {
			p.log.Warn("plugin did not answer shutdown", "err", inPlainWords(answer), "exit", exit.String(), "dur", time.Since(began))
		}
	})
	return nil
}

// inPlainWords replaces the error of a deadline by one in plain words.
func inPlainWords(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("no answer in time")
	}
	return err
}

// named returns the description of a call, which its errors contain.
func (p *plugin) named(what string, timeout time.Duration) *hook.Call {
	return &hook.Call{Plugin: p.manifest.Name, Dialect: Name, Name: what, Timeout: timeout}
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
