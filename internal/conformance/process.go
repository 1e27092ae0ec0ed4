package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// lingerTime is how long the remaining processes of a plugin are watched.
const lingerTime = 500 * time.Millisecond

// mostStdout is how many bytes of a call's output are kept. Every protocol allows less.
const mostStdout = 20 << 20

// A launch is a process to start.
type launch struct {
	path string
	args []string
	dir  string
	env  []string
	free bool // it runs without the sandbox
}

// start starts a process of the plugin.
func (b *bench) start(l launch) (*proc.Process, error) {
	spec := proc.Spec{Path: l.path, Args: l.args, Dir: l.dir, Env: l.env, Linger: lingerTime, Log: func(line string) {
		b.opts.Log.Info("stderr", "line", line)
		b.suspect(line)
	}}
	if !l.free {
		spec.Box = b.box()
	}
	p, err := b.procs.Start(b.ctx, spec)
	b.noteStart(err)
	return p, err
}

// A startFailed says why the plugin cannot be started, and which check found that.
type startFailed struct{ check, text, fix string }

// noteStart records whether the plugin can be started at all. If the first process cannot be
// started, no other can, so that one check fails and the others are skipped.
func (b *bench) noteStart(err error) {
	b.startMu.Lock()
	defer b.startMu.Unlock()
	switch {
	case err == nil:
		b.started = true
	case !b.started && b.stuck == nil && b.ctx.Err() == nil:
		text, fix := startFault(err)
		if _, refused := errors.AsType[*sandbox.Refusal](err); refused {
			fix = cmp.Or(fix, "change what it declares, as the message says") + "; to test it without its sandbox: --no-sandbox"
		}
		b.stuck = &startFailed{b.current, text, fix}
	}
}

// failStart fails a check because a process did not start.
func (t *trial) failStart(err error) {
	text, fix := startFault(err)
	t.failf("%s", text)
	t.fixWith(fix)
}

// startFault returns why a process did not start, and how to fix it.
func startFault(err error) (text, fix string) {
	if s, ok := errors.AsType[*program.StartError](err); ok {
		return s.Error(), s.Fix
	}
	return err.Error(), ""
}

// A call is one process that answers one question.
type call struct {
	launch
	stdin  []byte
	within time.Duration // the time that the protocol allows
	late   time.Duration // how much later stdin is written
	open   bool          // stdin is neither written nor closed
	fixed  bool          // within is not a time of the protocol and is not shortened
	grace  time.Duration // from SIGTERM, when its time is up, to SIGKILL
}

// A returned is the result of a call.
type returned struct {
	stdout []byte
	early  []byte // its output before stdin was written
	stderr string
	exit   proc.Exit
	took   time.Duration
	over   bool // it was ended because its time was up
	killed bool // SIGTERM did not end it
}

// run makes one call. It returns the error of a process that could not be started.
func (b *bench) run(c call) (*returned, error) {
	p, err := b.start(c.launch)
	if err != nil {
		return nil, err
	}
	began, r := time.Now(), &returned{}
	out := collect(p.Stdout())
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		b.feed(p, &c, out, r)
	}()
	limit := c.within
	if !c.fixed {
		limit = b.limit(limit)
	}
	r.over = !b.await(p, limit+c.late)
	r.took = time.Since(began) - c.late
	if r.over {
		p.Terminate(c.grace)
		<-p.Done() // SIGKILL follows
		r.killed = p.Exit().Signal == "SIGKILL"
	}
	out.awaitRead()
	p.Stop(context.Background(), proc.Ladder{})
	<-fed
	r.stdout, r.stderr, r.exit = out.soFar(), p.Stderr(), p.Exit()
	if p.Left() {
		b.seen.note(sawLeft, "%s left a process running when it ended", describe(c.launch))
	}
	return r, nil
}

// feed writes the payload and closes stdin.
func (b *bench) feed(p *proc.Process, c *call, out *collected, r *returned) {
	if c.open {
		return
	}
	if c.late > 0 {
		select {
		case <-time.After(c.late):
			r.early = out.soFar()
		case <-p.Done():
		}
	}
	_, _ = p.Stdin().Write(c.stdin) // if a program does not read its payload, its answer shows that
	_ = p.Stdin().Close()
}

// await waits for the end of a process, and reports whether it came in time.
func (b *bench) await(p *proc.Process, within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.Done():
		return true
	case <-b.ctx.Done():
	case <-timer.C:
	}
	return false
}

// describe returns a name for a process in messages: its verb, if the program takes one.
func describe(l launch) string {
	if len(l.args) > 0 && !strings.HasPrefix(l.args[0], "-") {
		return fmt.Sprintf("`%s`", l.args[0])
	}
	return "the program"
}

// collected is the output of a process while it arrives.
type collected struct {
	mu   sync.Mutex // protects text
	text []byte
	done chan struct{}
}

func collect(from *os.File) *collected {
	c := &collected{done: make(chan struct{})}
	go func() {
		defer close(c.done)
		_, _ = io.Copy(c, from) // it ends with the process
	}()
	return c
}

func (c *collected) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, p[:min(len(p), mostStdout-len(c.text))]...)
	return len(p), nil
}

func (c *collected) soFar() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]byte{}, c.text...)
}

// awaitRead waits until all output of an ended process is read.
func (c *collected) awaitRead() {
	select {
	case <-c.done:
	case <-time.After(lingerTime): // a process that cannot be killed holds the pipe
	}
}
