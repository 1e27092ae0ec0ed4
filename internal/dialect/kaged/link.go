package kaged

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/wire"
)

// A link is one process of a plugin, from its start to its end.
type link struct {
	process *proc.Process
	peer    *wire.Peer
}

// connect starts a process and shakes hands with it. It is called for the first start and for every
// restart.
func (p *plugin) connect(ctx context.Context) (*link, *proc.Process, error) {
	process, err := p.rt.Procs.Start(ctx, p.rt.Confined(proc.Spec{
		Path: p.manifest.Command[0],
		Args: p.manifest.Command[1:],
		Dir:  p.dir, // rulings: "Working directory is the plugin's own"
		Env:  p.environment(),
		Log:  func(line string) { p.log.Info("stderr", "line", line) },
	}, p.dir))
	if err != nil {
		return nil, nil, unopened(p.manifest.Name, err)
	}
	l := &link{process: process}
	l.peer = wire.NewPeer(process.Stdout(), process.Stdin(), p.peerOptions())
	if err := p.handshake(ctx, l); err != nil {
		process.Stop(ctx, proc.Ladder{})
		l.close()
		return nil, nil, withStderr(err, process)
	}
	return l, process, nil
}

// environment: "the manifest's `env` over PATH, HOME, LANG, TMPDIR, and KAGED_CONFIG_ROOT,
// KAGED_PROJECT_ROOT, KAGED_PROJECT_ID". A root the host does not have is left out, so that a
// plugin's own default applies.
func (p *plugin) environment() []string {
	names := append([]string{}, dialect.BaseNames...)
	names = append(names, p.settings.Env...)
	var extra []string
	for _, v := range [][2]string{
		{"KAGED_CONFIG_ROOT", p.rt.Env.InConfigHome(Name)},
		{"KAGED_PROJECT_ROOT", p.rt.ProjectRoot},
		{"KAGED_PROJECT_ID", p.rt.ProjectID},
	} {
		if v[1] != "" {
			extra = append(extra, v[0]+"="+v[1])
		}
	}
	for name, value := range p.manifest.Env {
		extra = append(extra, name+"="+value)
	}
	return p.rt.Env.Pick(names, extra...)
}

func (p *plugin) peerOptions() wire.PeerOptions {
	return wire.PeerOptions{
		Options:    wire.Options{MaxSend: maxMessage, MaxReceive: p.rt.Most(maxMessage), OnNoise: p.noise.Take},
		OnNotify:   p.notifications.take,
		NotifyRate: notifyRate,
		OnDropped:  p.notifications.drop,
		OnRequest:  p.storage.serve,
	}
}

// handshake: seed 002, "performs a handshake (initialize → initialized), then routes method calls".
func (p *plugin) handshake(ctx context.Context, l *link) error {
	_, err := hook.Do(ctx, p.named(methodInitialize, p.dialect.handshake), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, p.greet(ctx, l)
	})
	return err
}

func (p *plugin) greet(ctx context.Context, l *link) error {
	result, err := l.peer.Call(ctx, methodInitialize, p.hello().params())
	if err != nil {
		return dialect.CallFailure(err, l.process)
	}
	w, err := readWelcome(result)
	if err != nil {
		return err
	}
	if err := w.refusal(); err != nil {
		return err
	}
	for _, difference := range w.differences(p.manifest) {
		p.rt.Odd("the handshake and the manifest differ: "+difference, "make its manifest and its answer to initialize say the same")
	}
	if err := l.peer.Notify(ctx, methodInitialized, emptyObject); err != nil {
		return dialect.CallFailure(err, l.process)
	}
	return nil
}

func (p *plugin) hello() *hello {
	h := &hello{
		daemonVersion:    p.rt.HostVersion,
		pluginName:       p.manifest.Name,
		storageAvailable: p.storage.available(),
		config:           p.given.Load().Config,
		systemConfig:     p.given.Load().SystemConfig,
	}
	if p.rt.ProjectRoot != "" {
		h.projects = []string{p.rt.ProjectID}
	}
	return h
}

// farewell: seed 002, "the daemon sends a shutdown request and waits up to shutdown_timeout_sec",
// and the rulings: "After shutdown is answered the host closes stdin, then waits out
// shutdown_timeout_sec, then the stop ladder". The answer and the exit share one allowance.
func (l *link) farewell(ctx context.Context, allowance time.Duration) (exit proc.Exit, answer error) {
	deadline := time.Now().Add(allowance)
	callCtx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	_, answer = l.peer.Call(callCtx, methodShutdown, emptyObject)
	if _, refused := errors.AsType[*wire.RPCError](answer); refused {
		answer = nil // an answer all the same
	}
	exit = l.process.Stop(ctx, proc.Ladder{Stdin: max(time.Until(deadline), stdinGrace), Term: termGrace})
	return exit, answer
}

// close ends the reading; the process is gone already.
func (l *link) close() {
	_ = l.peer.Close() // it can only say that the pipes are closed
}

func (l *link) ended() bool {
	select {
	case <-l.process.Done():
		return true
	default:
		return false
	}
}

// withStderr adds a plugin's last words to an error that has none: why it did not answer in time is
// often written there.
func withStderr(err error, process *proc.Process) error {
	e, ok := errors.AsType[*hook.Error](err)
	if !ok || e.Stderr != "" {
		return err
	}
	with := *e
	with.Stderr = process.Stderr()
	return &with
}

// call makes one request of the process there is now. It is the one place that does, but for the
// handshake, the ping and the farewell.
func (p *plugin) call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if err := p.gate.enter(ctx); err != nil {
		return nil, err
	}
	defer p.gate.leave()
	l, err := p.kept.Get()
	if err != nil {
		return nil, hook.Failure(hook.Unavailable, err)
	}
	result, err := l.peer.Call(ctx, method, params)
	if err == nil {
		return result, nil
	}
	if !errors.Is(err, wire.ErrClosed) {
		return nil, dialect.CallFailure(err, l.process)
	}
	if p.closing.Load() {
		return nil, hook.Failure(hook.Unavailable, errShutdown)
	}
	failure := dialect.CallFailure(err, l.process)
	if !l.ended() { // it lives on without its stdout: nothing can come of it any more
		l.process.Stop(ctx, proc.Ladder{})
	}
	return nil, failure
}

var errShutdown = errors.New("it is being shut down")
