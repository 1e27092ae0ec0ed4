package python

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/wire"
)

// A runner is the interpreter that plugins share. It is restarted when it ends.
type runner struct {
	launch      launch
	share       share
	loadTimeout time.Duration
	restartWait time.Duration
	log         *slog.Logger // of the plugin that started it; the host has no logger for it
	holders     int          // protected by Dialect.mu

	starting context.Context    // ended by cancel
	cancel   context.CancelFunc // called by stop
	started  chan struct{}      // closed when kept or err is set
	kept     *proc.Kept[*interpreter]
	err      error

	loading chan struct{}          // of capacity 1: only one plugin is opened at a time, so that it is clear which one hangs
	under   atomic.Int64           // calls under way
	absent  atomic.Bool            // a call has waited for a restart in vain; no other call waits until the interpreter is up
	killed  atomic.Bool            // the interpreter was ended because it was blocked
	inLoad  atomic.Bool            // a file is being loaded, or has ended the interpreter
	last    atomic.Pointer[plugin] // the plugin that was called last, to which unmarked output is assigned

	mu       sync.Mutex // protects the fields below
	plugins  []*plugin  // in the order in which they were opened
	logNames []logName  // which log lines belong to which plugin
	up       chan struct{}
}

func newRunner(rt *dialect.Runtime, d *Dialect) *runner {
	r := &runner{log: rt.Log, loadTimeout: d.loadTimeout, restartWait: d.restartWait,
		started: make(chan struct{}), loading: make(chan struct{}, 1), up: make(chan struct{})}
	r.launch = launch{procs: rt.Procs, env: rt.Env, dir: rt.Dir, log: r.logLine, peer: wire.PeerOptions{
		Options:  wire.Options{MaxSend: largest, MaxReceive: rt.Most(largest), OnNoise: dialect.NewNoiseLog(r.logger).Take},
		OnNotify: r.notified,
	}}
	r.starting, r.cancel = context.WithCancel(context.Background())
	return r
}

// start starts the interpreter for the first time, and keeps it running.
func (r *runner) start() {
	defer close(r.started)
	r.kept, r.err = proc.Keep(r.starting, proc.KeepOptions[*interpreter]{
		Open:      r.connect,
		Close:     (*interpreter).close,
		Backoff:   proc.Backoff{Max: restartPause},
		OnExit:    r.exited,
		OnRetry:   func(err error) { r.logger().Warn("interpreter cannot be restarted yet", "err", err) },
		OnRestart: func(int) { r.announce() },
	})
}

// exited logs the end of an interpreter. It does not warn if the interpreter was blocked, or ended
// while a file was loaded, because another message or error reports that.
func (r *runner) exited(exit proc.Exit, stderr string) {
	level := slog.LevelWarn
	if r.killed.Swap(false) || r.inLoad.Swap(false) {
		level = slog.LevelInfo
	}
	attrs := []any{"exit", exit.String()}
	if words := hook.ReasonLine(saidBy(stderr)); words != "" {
		attrs = append(attrs, "stderr", words)
	}
	r.logger().Log(context.Background(), level, "interpreter ended, and is restarted", attrs...)
}

// stop ends the interpreter.
func (r *runner) stop(ctx context.Context) {
	r.cancel()
	<-r.started
	if r.kept != nil {
		r.kept.Stop(func(i *interpreter, _ *proc.Process) { i.closeStdin(ctx) })
	}
}

// connect starts a process and, after a crash, loads every plugin again. A plugin that cannot be
// loaded any more is marked as faulty, and the others work.
func (r *runner) connect(ctx context.Context) (*interpreter, *proc.Process, error) {
	i, err := r.launch.start(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range r.opened() {
		if err := p.loadAgain(ctx, i); err != nil {
			i.kill()
			i.close()
			return nil, nil, err
		}
	}
	return i, i.process, nil
}

// live returns the current interpreter. If it is being restarted, live waits for it, but not longer
// than wait. So a crash does not affect the other plugins.
func (r *runner) live(ctx context.Context, wait time.Duration) (*interpreter, error) {
	i, err := r.kept.Get()
	if err == nil || r.absent.Load() {
		return i, unavailableNow(err)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		up := r.comingUp()
		if i, err = r.kept.Get(); err == nil {
			return i, nil
		}
		if down, ok := errors.AsType[*proc.DownError](err); !ok || down.Err != nil {
			return nil, unavailableNow(err) // stopped, or its start failed
		}
		select {
		case <-up:
		case <-timer.C:
			r.absent.Store(true)
			return nil, unavailableNow(err)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func unavailableNow(err error) error {
	if err == nil {
		return nil
	}
	return hook.Failure(hook.Unavailable, err)
}

// comingUp returns a channel that is closed when the next interpreter is up.
func (r *runner) comingUp() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.up
}

// announce wakes the calls that wait for the interpreter.
func (r *runner) announce() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.absent.Store(false)
	close(r.up)
	r.up = make(chan struct{})
}

// call calls a handler of a plugin.
func (r *runner) call(ctx context.Context, p *plugin, name string, params json.RawMessage) (wire.Result, error) {
	i, err := r.live(ctx, r.restartWait)
	if err != nil {
		return wire.Result{}, err
	}
	r.last.Store(p)
	r.under.Add(1)
	defer r.under.Add(-1)
	began := time.Now()
	result, err := i.peer.Ask(ctx, methodCall, params)
	if rpc, ok := errors.AsType[*wire.RPCError](err); ok && rpc.Code == codeNotLoaded && r.has(p) {
		// The plugin was opened while another interpreter was being started.
		if err := p.load(ctx, i, methodLoad); err != nil {
			return wire.Result{}, err
		}
		result, err = i.peer.Ask(ctx, methodCall, params)
	}
	if err == nil {
		return result, nil
	}
	if errors.Is(err, context.DeadlineExceeded) && time.Since(began)+grace >= p.limit {
		return wire.Result{}, r.overdue(ctx, i, p, name)
	}
	return wire.Result{}, p.withoutOthersStderr(callFailure(err, i.process))
}

// overdue returns the error of a call without an answer. The runner itself enforces a handler's
// limit. If the interpreter does not answer after that limit either, it is blocked. Then overdue
// ends it, so that it is restarted, and the request goes on: docs/protocols/python.md, row P40.
func (r *runner) overdue(ctx context.Context, i *interpreter, p *plugin, name string) error {
	if i.answers(ctx) {
		return logged(hook.Timeout, fmt.Errorf("timed out after %ss", seconds(p.limit)))
	}
	dialect.LogStderr(p.log, slog.LevelWarn, fmt.Sprintf("Plugin %s %s timed out after %ss", p.name, name, seconds(p.limit)))
	r.killed.Store(true)
	i.kill()
	at := r.culprit(i.process.Stderr(), "")
	r.logOf(at, p).Warn("interpreter was blocked, and is restarted", "at", at.String())
	if at.path == "" || at.path == p.path {
		return logged(hook.Timeout, fmt.Errorf("timed out after %ss", seconds(p.limit)))
	}
	return logged(hook.Timeout, fmt.Errorf("timed out after %ss: the interpreter was blocked at %s", seconds(p.limit), at))
}

// logOf returns the log of the plugin whose file has the place at, or the log of p if no plugin has
// it.
func (r *runner) logOf(at place, p *plugin) *slog.Logger {
	for _, other := range r.opened() {
		if other.path == at.path {
			return other.log
		}
	}
	return p.log
}

// notified restarts the interpreter if it reports stuck threads of handlers that are not async, and
// no call is under way. Such threads end only with the process.
func (r *runner) notified(method string, params json.RawMessage) {
	<-r.started
	if method != notifyStuck || r.under.Load() > 0 {
		return
	}
	var stuck stuckJSON
	if err := json.Unmarshal(params, &stuck); err != nil {
		r.logger().Warn("the runner's report of stuck threads cannot be read", "err", err)
	}
	r.logger().Warn("interpreter is restarted, because handlers that are not async never returned", "threads", stuck.Threads,
		"handlers", strings.Join(stuck.Handlers, ", "), "fix", "limit what the handler waits for, for example with a timeout")
	r.kept.Restart("handlers that are not async never returned")
}

// opened returns the opened plugins, in the order in which they were opened.
func (r *runner) opened() []*plugin {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.plugins)
}

// has reports whether a plugin is open.
func (r *runner) has(p *plugin) bool { return slices.Contains(r.opened(), p) }

func (r *runner) add(p *plugin) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.plugins, p) {
		r.plugins = append(r.plugins, p)
	}
}

func (r *runner) remove(p *plugin) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plugins = slices.DeleteFunc(r.plugins, func(other *plugin) bool { return other == p })
}
