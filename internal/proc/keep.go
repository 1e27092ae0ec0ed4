package proc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// livedLong is the age at which a process counts as healthy: its end is an accident then, and the
// waits begin anew.
const livedLong = 60 * time.Second

// ErrStopped is what [Kept.Get] returns after Stop.
var ErrStopped = errors.New("stopped")

// DownError says that a kept process is down, why, and that it is being started again.
type DownError struct {
	Reason string // what Restart was given, where that ended it
	Exit   Exit   // how the process ended
	Stderr string // the end of what it said
	Err    error  // why it could not be started again, where that was tried
}

// Error names the last thing that went wrong.
func (e *DownError) Error() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("restarting: cannot be opened again: %v", e.Err)
	case e.Reason != "":
		return "restarting: " + e.Reason
	case e.Stderr != "":
		return fmt.Sprintf("restarting: it ended with %s, its last words: %q", e.Exit, lastWords(e.Stderr))
	}
	return fmt.Sprintf("restarting: it ended with %s", e.Exit)
}

// Unwrap is why it could not be started again.
func (e *DownError) Unwrap() error { return e.Err }

// lastWords cuts stderr to what fits into an error message.
func lastWords(stderr string) string {
	const enough = 200
	return stderr[max(0, len(stderr)-enough):]
}

// KeepOptions say how a long-lived thing of type C, a connection to a plugin, is opened and what is
// done when its process ends. All functions but Open may be nil; they are called on one goroutine,
// one at a time.
type KeepOptions[C any] struct {
	Open      func(ctx context.Context) (C, *Process, error) // starts the process and makes it ready
	Close     func(C)                                        // frees what Open made, when the process is gone
	Backoff   Backoff
	OnExit    func(exit Exit, stderr string) // the process ended, and not by Stop
	OnRetry   func(err error)                // it could not be opened again; the next try follows
	OnRestart func(n int)                    // it was, for the nth time
}

// Kept is a thing that is kept alive. Its methods are safe for concurrent use.
type Kept[C any] struct {
	o      KeepOptions[C]
	open   func(context.Context) (C, child, error)
	ctx    context.Context // ended by Stop
	cancel context.CancelFunc
	ended  chan struct{} // closed when the keeping goroutine is gone
	stop   sync.Once

	mu       sync.Mutex // protects the fields below
	thing    C
	proc     child      // nil: down
	down     *DownError // why, while proc is nil
	reason   string     // what Restart said of the present process
	restarts int
}

// child is what keeping needs of a process.
type child interface {
	Pid() int
	Done() <-chan struct{}
	Exit() Exit
	Stderr() string
	Stop(ctx context.Context, l Ladder) Exit
}

// Keep opens a thing and keeps it alive: whenever its process ends, it is opened again, after a
// wait that grows with each failure. ctx bounds the first Open, whose error is returned; there is
// no second try then.
func Keep[C any](ctx context.Context, o KeepOptions[C]) (*Kept[C], error) {
	return keep(ctx, o, func(ctx context.Context) (C, child, error) {
		thing, proc, err := o.Open(ctx)
		return thing, proc, err
	})
}

func keep[C any](ctx context.Context, o KeepOptions[C], open func(context.Context) (C, child, error)) (*Kept[C], error) {
	thing, proc, err := open(ctx)
	if err != nil {
		return nil, err
	}
	k := &Kept[C]{o: o, open: open, ended: make(chan struct{}), thing: thing, proc: proc}
	k.ctx, k.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go k.loop()
	return k, nil
}

// Get returns the live thing, a *[DownError] while it is down, or [ErrStopped].
func (k *Kept[C]) Get() (C, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var none C
	switch {
	case k.ctx.Err() != nil:
		return none, ErrStopped
	case k.proc == nil:
		return none, k.down
	case ended(k.proc): // the loop is about to notice
		return none, k.obituary()
	}
	return k.thing, nil
}

// Restart ends the present process, at once and with its whole group, for a reason that Get repeats
// until another is up: a plugin that no longer answers will not answer SIGTERM either. It does
// nothing while there is none.
func (k *Kept[C]) Restart(reason string) {
	k.mu.Lock()
	proc := k.proc
	if proc != nil {
		k.reason = reason
	}
	k.mu.Unlock()
	if proc != nil {
		proc.Stop(k.ctx, Ladder{})
	}
}

// Restarts is how often the thing was opened again.
func (k *Kept[C]) Restarts() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.restarts
}

// Pid is the present process's number, 0 while there is none.
func (k *Kept[C]) Pid() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.proc == nil || ended(k.proc) {
		return 0
	}
	return k.proc.Pid()
}

// Stop ends the keeping and then the process: final says goodbye to it in the protocol's way and
// calls [Process.Stop]; what it leaves alive is killed. final is not called where the process is
// down, and may be nil. A second Stop waits for the first.
func (k *Kept[C]) Stop(final func(C, *Process)) {
	k.cancel()
	<-k.ended
	k.stop.Do(func() {
		if k.proc == nil {
			return
		}
		if p, ok := k.proc.(*Process); ok && final != nil && !ended(k.proc) {
			final(k.thing, p)
		}
		k.proc.Stop(k.ctx, Ladder{})
		k.discard(k.thing)
	})
}

// loop is the keeping goroutine: wait for the end, mourn, wait, open again.
func (k *Kept[C]) loop() {
	defer close(k.ended)
	failures := 0
	for {
		born := time.Now()
		select {
		case <-k.ctx.Done():
			return
		case <-k.proc.Done(): // only this goroutine changes proc
		}
		if time.Since(born) >= livedLong {
			failures = 0
		}
		failures++
		bury := k.mourn()
		going := k.pause(failures)
		bury()
		for going && !k.reopen() {
			failures++
			going = k.pause(failures)
		}
		if !going {
			return
		}
	}
}

// mourn takes note of the end of the present process. The function it returns frees what is left of
// it, and is called after the first wait: its last reply may lie in the pipe yet, on its way to a
// caller.
func (k *Kept[C]) mourn() (bury func()) {
	k.mu.Lock()
	thing, proc, down := k.thing, k.proc, k.obituary()
	var none C
	k.thing, k.proc, k.down, k.reason = none, nil, down, ""
	k.mu.Unlock()
	if k.o.OnExit != nil {
		k.o.OnExit(down.Exit, down.Stderr)
	}
	return func() {
		k.discard(thing)
		proc.Stop(k.ctx, Ladder{}) // ended as it is, this closes its pipes
	}
}

// pause waits as long as so many failures in a row demand. False: Stop came first.
func (k *Kept[C]) pause(failures int) bool {
	select {
	case <-k.ctx.Done():
		return false
	case <-time.After(k.o.Backoff.after(failures)):
		return true
	}
}

// reopen tries once, and reports whether it is up again.
func (k *Kept[C]) reopen() bool {
	thing, proc, err := k.open(k.ctx)
	if err != nil {
		k.stillDown(err)
		return false
	}
	k.revive(thing, proc)
	return true
}

func (k *Kept[C]) revive(thing C, proc child) {
	k.mu.Lock()
	k.thing, k.proc, k.down = thing, proc, nil
	k.restarts++
	n := k.restarts
	k.mu.Unlock()
	if k.o.OnRestart != nil {
		k.o.OnRestart(n)
	}
}

func (k *Kept[C]) stillDown(err error) {
	k.mu.Lock()
	down := *k.down
	down.Err = err
	k.down = &down
	k.mu.Unlock()
	if k.o.OnRetry != nil && k.ctx.Err() == nil {
		k.o.OnRetry(err)
	}
}

// obituary says how the present process ended; the caller holds mu.
func (k *Kept[C]) obituary() *DownError {
	return &DownError{Reason: k.reason, Exit: k.proc.Exit(), Stderr: k.proc.Stderr()}
}

func (k *Kept[C]) discard(thing C) {
	if k.o.Close != nil {
		k.o.Close(thing)
	}
}

func ended(c child) bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}
