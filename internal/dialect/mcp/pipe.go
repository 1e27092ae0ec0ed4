package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/wire"
)

const (
	maxMessage = 16 << 20        // docs/protocols/mcp.md, row C31; room for a picture of 12 MB
	notifyRate = 1000            // notifications per second; more are dropped
	stdinGrace = 2 * time.Second // from the end of stdin to SIGTERM
	termGrace  = 2 * time.Second // from SIGTERM to SIGKILL
)

// pipes is the connection to a server that is a program, which is restarted when it exits.
type pipes struct {
	kept *proc.Kept[*link]
}

// openPipes starts the program for the first time, and keeps it running.
func (p *plugin) openPipes(ctx context.Context, only *era) (connection, error) {
	kept, err := proc.Keep(ctx, proc.KeepOptions[*link]{
		Open:    func(ctx context.Context) (*link, *proc.Process, error) { return p.start(ctx, only) },
		Close:   func(l *link) { l.carrier.(*pipe).close() },
		OnExit:  func(exit proc.Exit, stderr string) { dialect.LogEnd(p.log, exit, stderr) },
		OnRetry: func(err error) { p.log.Warn("plugin cannot be restarted yet", "err", err) },
		OnRestart: func(n int) {
			p.log.Info("plugin restarted", "restarts", n)
			p.relist()
		},
	})
	if err != nil {
		return nil, err
	}
	return &pipes{kept}, nil
}

// start starts a process and makes the handshake. If the process crashes when it gets
// server/discover, start starts another one, which gets initialize: docs/protocols/mcp.md, row C24.
func (p *plugin) start(ctx context.Context, only *era) (*link, *proc.Process, error) {
	l, process, err := p.startOnce(ctx, only)
	if err != nil && only == nil && errors.Is(err, hook.Crash) && ctx.Err() == nil {
		old := handshake
		return p.startOnce(ctx, &old)
	}
	return l, process, err
}

func (p *plugin) startOnce(ctx context.Context, only *era) (*link, *proc.Process, error) {
	process, err := p.rt.Procs.Start(ctx, p.rt.Confined(proc.Spec{
		Path: p.server.Command[0],
		Args: p.server.Command[1:],
		Dir:  p.rt.Dir,
		Env:  p.environment(),
		Log:  func(line string) { dialect.LogStderr(p.log, slog.LevelInfo, line) },
	}, p.files()...))
	if err != nil {
		return nil, nil, unopened(p.server.Name, err)
	}
	l := &link{owner: p}
	c := &pipe{process: process, link: l}
	l.carrier = c
	c.peer = wire.NewPeer(process.Stdout(), process.Stdin(), wire.PeerOptions{
		Options:    wire.Options{MaxSend: maxMessage, MaxReceive: p.rt.Most(maxMessage), OnNoise: p.noise.Take},
		OnNotify:   func(method string, params json.RawMessage) { p.receiveNotification(l, method, params, nil) },
		NotifyRate: notifyRate,
		OnDropped:  func(n int) { p.dropped.Add(int64(n)) },
		OnRequest: func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			return p.asked(ctx, l, method, params, nil)
		},
		OnGivenUp: c.cancelled,
	})
	if err := l.negotiate(ctx, only); err != nil {
		err = c.failure(err)
		process.Stop(context.WithoutCancel(ctx), proc.Ladder{})
		c.close()
		return nil, nil, err
	}
	return l, process, nil
}

// environment returns the variables that every plugin gets, those that the configuration passes on,
// and those that the server's table sets: docs/protocols/mcp.md, row C33.
func (p *plugin) environment() []string {
	var own []string
	for name, value := range p.server.Env {
		own = append(own, name+"="+value())
	}
	return p.rt.Env.Pick(slices.Concat(dialect.BaseNames, []string{"SHELL"}, p.settings.Env), own...)
}

// files returns the words of the command that are absolute paths of files, such as the program and
// its script.
func (p *plugin) files() []string {
	var own []string
	for _, word := range p.server.Command {
		if info, err := os.Stat(word); filepath.IsAbs(word) && err == nil && info.Mode().IsRegular() {
			own = append(own, word)
		}
	}
	return own
}

func (c *pipes) get(context.Context) (*link, error) {
	l, err := c.kept.Get()
	if err != nil {
		return nil, hook.Failure(hook.Unavailable, err)
	}
	return l, nil
}

func (c *pipes) status() dialect.Status { return dialect.KeptStatus(c.kept) }

// close closes the server's stdin, then sends SIGTERM and SIGKILL: docs/protocols/mcp.md, row C19.
func (c *pipes) close(ctx context.Context) {
	c.kept.Stop(func(_ *link, process *proc.Process) {
		process.Stop(ctx, proc.Ladder{Stdin: stdinGrace, Term: termGrace})
	})
}

// A pipe carries messages over a process's pipes, one line of JSON each.
type pipe struct {
	process *proc.Process
	peer    *wire.Peer
	link    *link
}

func (c *pipe) send(ctx context.Context, method string, params json.RawMessage, _ *pending) (json.RawMessage, error) {
	result, err := c.peer.Call(ctx, method, params)
	c.peer.AwaitNotifications(ctx) // notifications before the answer are handled before send returns
	if err == nil {
		return result, nil
	}
	failure := c.failure(err)
	if errors.Is(err, wire.ErrClosed) && !c.process.Ended() { // it has closed its stdout, so it can never answer again
		c.process.Stop(context.WithoutCancel(ctx), proc.Ladder{})
	}
	return nil, failure
}

func (c *pipe) notify(ctx context.Context, method string, params json.RawMessage) error {
	return c.peer.Notify(ctx, method, params)
}

// cancelled tells the server that a call was given up.
func (c *pipe) cancelled(id uint64, method string) {
	if method == "initialize" || method == "server/discover" {
		return // MCP forbids cancelling initialize
	}
	_ = c.peer.Notify(context.Background(), "notifications/cancelled", fmt.Appendf(nil, `{"requestId":%d,"reason":"the caller no longer waits"}`, id))
}

func (c *pipe) close() { _ = c.peer.Close() }

// failure turns an error into a [hook.Error], if it is not one already.
func (c *pipe) failure(err error) error {
	if _, ok := errors.AsType[*hook.Error](err); ok {
		return err
	}
	return dialect.CallFailure(err, c.process)
}
