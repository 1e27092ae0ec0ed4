package kaged

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/internal/wire"
)

// A link is one process of a plugin, from its start to its end.
type link struct {
	process *proc.Process
	peer    *wire.Peer
	silent  atomic.Bool // it did not answer health.check, and is killed
}

// connect starts a process and shakes hands with it, for the first start and for every restart.
func (p *plugin) connect(ctx context.Context) (*link, *proc.Process, error) {
	process, err := p.rt.Procs.Start(ctx, p.rt.Confined(proc.Spec{
		Path: p.manifest.Command[0],
		Args: p.manifest.Command[1:],
		Dir:  p.dir, // docs/protocols/kaged.md, row K49
		Env:  p.environment(),
		Log:  func(line string) { dialect.LogStderr(p.log, slog.LevelInfo, line) },
	}, p.dir))
	if err != nil {
		return nil, nil, unopened(p.manifest.Name, p.withCommandFix(err))
	}
	l := &link{process: process}
	l.peer = wire.NewPeer(process.Stdout(), process.Stdin(), p.peerOptions())
	if err := p.handshake(ctx, l); err != nil {
		process.Stop(ctx, proc.Ladder{})
		l.close()
		return nil, nil, dialect.WithFix(withStderr(err, process), handshakeFix(err))
	}
	return l, process, nil
}

// withCommandFix replaces the fix in the error if the command is not where the manifest says. The
// new fix mentions the manifest, because the reader may be the plugin's author.
func (p *plugin) withCommandFix(err error) error {
	start, ok := errors.AsType[*program.StartError](err)
	if !ok {
		return err
	}
	if name := p.manifest.Command[0]; !strings.Contains(name, "/") {
		if _, missing := os.Stat(filepath.Join(p.dir, name)); missing != nil {
			return err
		}
		named := *start
		named.Fix = "write ./" + name + " in command of the manifest: without ./ the program is searched for in PATH, not in the plugin's directory"
		return &named
	}
	if _, missing := os.Lstat(start.Path); !errors.Is(missing, fs.ErrNotExist) {
		return err
	}
	named := *start
	named.Fix = "put the program there, or correct command in the manifest: a relative path counts from the plugin's directory"
	return &named
}

// environment returns the plugin's environment: docs/protocols/kaged.md, row K49. A root that the
// host does not have is left out, so that the plugin uses its default.
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

// handshake sends initialize, checks the answer and sends initialized: docs/protocols/kaged.md,
// rows K50 to K59.
func (p *plugin) handshake(ctx context.Context, l *link) error {
	_, err := hook.Do(ctx, p.named(methodInitialize, p.dialect.handshake), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, p.greet(ctx, l)
	})
	return err
}

// handshakeFix returns what the author of a plugin can do about a failed handshake, or "" if the
// error itself says it.
func handshakeFix(err error) string {
	if _, ok := errors.AsType[*wire.RPCError](err); ok {
		return ""
	}
	switch {
	case errors.Is(err, hook.Timeout):
		return dialect.UnansweredFix
	case errors.Is(err, hook.Garbled):
		return `answer initialize with one JSON object on one line, with "api_version": 1 in it`
	case errors.Is(err, hook.Refused):
		return `answer initialize with "api_version": 1, a number`
	}
	return ""
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
	if l.peer.TextIDs() {
		p.rt.NoteTextIDs()
	}
	for _, difference := range w.differences(p.manifest) {
		p.rt.Odd("its answer to initialize "+difference, "make its manifest and its answer to initialize say the same")
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

// shutDown sends shutdown, closes stdin and then stops the process: docs/protocols/kaged.md, row
// K84. allowance limits the answer and the exit together.
func (l *link) shutDown(ctx context.Context, allowance time.Duration) (exit proc.Exit, answer error) {
	deadline := time.Now().Add(allowance)
	callCtx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	_, answer = l.peer.Call(callCtx, methodShutdown, emptyObject)
	if _, refused := errors.AsType[*wire.RPCError](answer); refused {
		answer = nil // an error is an answer too
	}
	exit = l.process.Stop(ctx, proc.Ladder{Stdin: max(time.Until(deadline), stdinGrace), Term: termGrace})
	return exit, answer
}

// close stops reading. The process has ended already.
func (l *link) close() {
	_ = l.peer.Close() // the only error is that the pipes are closed
}

// withStderr adds the end of a plugin's stderr to an error that has none. It often says why the
// plugin did not answer in time.
func withStderr(err error, process *proc.Process) error {
	e, ok := errors.AsType[*hook.Error](err)
	if !ok || e.Stderr != "" {
		return err
	}
	with := *e
	with.Stderr = process.Stderr()
	return &with
}

// call sends one request for a hook, a tool or a method to the current process. If split is false,
// the result has only its JSON, not split into fields.
func (p *plugin) call(ctx context.Context, method string, params json.RawMessage, split bool) (wire.Result, error) {
	if err := p.gate.enter(ctx); err != nil {
		return wire.Result{}, err
	}
	defer p.gate.leave()
	defer p.load.end(p.load.begin())
	return p.send(ctx, method, params, split)
}

// send sends one request to the current process. All requests go through it except those of the
// handshake and of the shutdown. The caller has entered the gate.
func (p *plugin) send(ctx context.Context, method string, params json.RawMessage, split bool) (result wire.Result, err error) {
	l, err := p.kept.Get()
	if err != nil {
		return wire.Result{}, hook.Failure(hook.Unavailable, err)
	}
	if split {
		result, err = l.peer.Ask(ctx, method, params)
	} else {
		result.JSON, err = l.peer.Call(ctx, method, params)
	}
	if err == nil {
		return result, nil
	}
	if !errors.Is(err, wire.ErrClosed) {
		return wire.Result{}, dialect.CallFailure(err, l.process)
	}
	if p.closing.Load() {
		return wire.Result{}, hook.Failure(hook.Unavailable, errShutdown)
	}
	failure := dialect.CallFailure(err, l.process)
	if !l.process.Ended() { // it has closed its stdout, so it can never answer again
		l.process.Stop(ctx, proc.Ladder{})
	}
	if l.silent.Load() {
		return wire.Result{}, p.silenceFailure(failure)
	}
	return wire.Result{}, failure
}

// silenceFailure replaces the error of a call whose process was ended because it did not answer
// health.check.
func (p *plugin) silenceFailure(failure error) error {
	e := &hook.Error{Kind: hook.Crash}
	if crash, ok := errors.AsType[*hook.Error](failure); ok {
		*e = *crash
	}
	e.Err = dialect.WithFix(errors.New("its process was ended: "+p.silence()), healthFix)
	return e
}

var errShutdown = errors.New("it is being shut down")
