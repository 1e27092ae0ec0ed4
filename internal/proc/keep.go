package proc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// livedLong is the age from which a process counts as healthy. After it ends, the waits begin anew.
const livedLong = 60 * time.Second

// ErrStopped is returned by [Kept.Get] after Stop.
var ErrStopped = errors.New("stopped")

// DownError says that a kept process is down, why, and that it is being started again.
type DownError struct {
	Reason string // the reason given to Restart, if that ended it
	Exit   Exit   // how the process ended
	Stderr string // the end of its stderr
	Err    error  // the error of the last attempt to start it again, if any
}

// Error names the last failure.
func (e *DownError) Error() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("restarting: cannot be opened again: %v", e.Err)
	case e.Reason != "":
		return "restarting: " + e.Reason
	case e.Stderr != "":
		return fmt.Sprintf("restarting: it ended with %s (stderr: %s)", e.Exit, lastLine(e.Stderr))
	}
	return fmt.Sprintf("restarting: it ended with %s", e.Exit)
}

// Unwrap returns the error of the last attempt to start it again.
func (e *DownError) Unwrap() error { return e.Err }

// lastLine returns the last line of stderr, cut to a length that fits into an error message.
func lastLine(stderr string) string {
	const enough = 300
	stderr = strings.TrimSpace(stderr)
	line := stderr[strings.LastIndexByte(stderr, '\n')+1:]
	if len(line) > enough {
		line = line[:enough] + "…"
	}
	return strings.ToValidUTF8(line, "\uFFFD")
}

// KeepOptions say how a long-lived thing of type C, such as a connection to a plugin, is opened,
// and what is done when its process ends. All functions except Open may be nil. They are called on
// one goroutine, one at a time.
type KeepOptions[C any] struct {
	Open      func(ctx context.Context) (C, *Process, error) // starts the process and makes it ready
	Close     func(C)                                        // frees what Open created, after the process has ended
	Backoff   Backoff
	OnExit    func(exit Exit, stderr string) // the process ended, and not by Stop or Replace
	OnRetry   func(err error)                // it could not be opened again; another attempt follows
	OnRestart func(n int)                    // it was opened again, for the nth time
}

// A Kept is a thing that is kept running. Its methods are safe for concurrent use.
type Kept[C any] struct {
	o      KeepOptions[C]
	open   func(context.Context) (C, child, error)
	ctx    context.Context // canceled by Stop
	cancel context.CancelFunc
	swaps  chan swap[C]  // from Replace to the goroutine loop
	ended  chan struct{} // closed when the goroutine loop has ended
	stop   sync.Once

	mu       sync.Mutex // protects the fields below
	thing    C
	proc     child      // nil while it is down
	down     *DownError // why it is down; set while proc is nil
	reason   string     // the reason given to Restart for the current process
	restarts int
}

// A swap is a request to replace the process.
type swap[C any] struct {
	end    func(C)
	opened chan error // has room for one: the result of the first attempt to open the next process
}

// A child is the part of a Process that Keep needs.
type child interface {
	Pid() int
	Done() <-chan struct{}
	Exit() Exit
	Stderr() string
	Stop(ctx context.Context, l Ladder) Exit
}

// Keep opens a thing and keeps it running: whenever its process ends, it is opened again, after a
// wait that grows with each failure. ctx bounds the first Open. If that fails, Keep returns the
// error and does not try again.
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
	k := &Kept[C]{o: o, open: open, swaps: make(chan swap[C]), ended: make(chan struct{}), thing: thing, proc: proc}
	k.ctx, k.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go k.loop()
	return k, nil
}

// Get returns the running thing, a *[DownError] while it is down, or [ErrStopped].
func (k *Kept[C]) Get() (C, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var none C
	switch {
	case k.ctx.Err() != nil:
		return none, ErrStopped
	case k.proc == nil:
		return none, k.down
	case ended(k.proc): // loop is about to notice
		return none, k.downError()
	}
	return k.thing, nil
}

// Restart kills the current process with its whole group at once: a plugin that no longer answers
// will not react to SIGTERM either. Get returns the reason until another process is up. Restart
// does nothing while the process is down.
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

// Replace ends the current process with end, and then kills it if it is still running. It opens
// another one at once, without the wait that follows a failure. It returns the result of the first
// attempt, which begins after Replace was called. While the process is down, Replace ends the wait,
// and does not call end.
func (k *Kept[C]) Replace(ctx context.Context, end func(C)) error {
	s := swap[C]{end: end, opened: make(chan error, 1)}
	select {
	case k.swaps <- s:
	case <-ctx.Done():
		return ctx.Err()
	case <-k.ended:
		return ErrStopped
	}
	select {
	case err := <-s.opened:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-k.ended:
		return ErrStopped
	}
}

// Restarts returns how often the thing was opened again.
func (k *Kept[C]) Restarts() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.restarts
}

// Pid returns the id of the current process, 0 while there is none.
func (k *Kept[C]) Pid() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.proc == nil || ended(k.proc) {
		return 0
	}
	return k.proc.Pid()
}

// Stop ends the restarting and then the process. It calls final, which ends the plugin as its
// protocol demands and calls [Process.Stop]. Then it kills the process if it is still running.
// final is not called if the process is down, and may be nil. A second Stop waits for the first.
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

// loop restarts the process: wait for its end, record why, pause, open it again.
func (k *Kept[C]) loop() {
	defer close(k.ended)
	failures := 0
	for {
		born := time.Now()
		asked, going := k.awaitEnd()
		if !going {
			return
		}
		if asked != nil || time.Since(born) >= livedLong {
			failures = 0
		}
		release := k.recordExit(asked != nil)
		if asked == nil {
			failures++
			asked, going = k.pause(failures)
		}
		release()
		for going && !k.reopen(asked) {
			failures++
			asked, going = k.pause(failures)
		}
		if !going {
			return
		}
	}
}

// awaitEnd waits for the end of the current process, or ends it if Replace asks for that: then it
// returns the request. going is false if Stop was called first.
func (k *Kept[C]) awaitEnd() (asked *swap[C], going bool) {
	select {
	case <-k.ctx.Done():
		return nil, false
	case <-k.proc.Done(): // only this goroutine changes proc
		return nil, true
	case s := <-k.swaps:
		s.end(k.thing)
		k.proc.Stop(k.ctx, Ladder{})
		return &s, true
	}
}

// recordExit records the end of the current process. The function that it returns frees the
// process's resources. It is called after the first pause, because the last reply may still be in
// the pipe on its way to a caller.
func (k *Kept[C]) recordExit(replaced bool) (release func()) {
	k.mu.Lock()
	thing, proc, down := k.thing, k.proc, k.downError()
	var none C
	k.thing, k.proc, k.down, k.reason = none, nil, down, ""
	k.mu.Unlock()
	if k.o.OnExit != nil && !replaced {
		k.o.OnExit(down.Exit, down.Stderr)
	}
	return func() {
		k.discard(thing)
		proc.Stop(k.ctx, Ladder{}) // the process has ended, so this only closes its pipes
	}
}

// pause waits according to the number of failures in a row, or until Replace is called: then it
// returns the request. going is false if Stop was called first.
func (k *Kept[C]) pause(failures int) (asked *swap[C], going bool) {
	select {
	case <-k.ctx.Done():
		return nil, false
	case s := <-k.swaps:
		return &s, true
	case <-time.After(k.o.Backoff.after(failures)):
		return nil, true
	}
}

// reopen tries once to open the thing, and reports whether it is up again. asked is the request
// that gets the result, or nil.
func (k *Kept[C]) reopen(asked *swap[C]) bool {
	thing, proc, err := k.open(k.ctx)
	if err == nil {
		k.recordUp(thing, proc)
	} else {
		k.recordFailure(err)
	}
	if asked != nil {
		asked.opened <- err
	}
	return err == nil
}

func (k *Kept[C]) recordUp(thing C, proc child) {
	k.mu.Lock()
	k.thing, k.proc, k.down = thing, proc, nil
	k.restarts++
	n := k.restarts
	k.mu.Unlock()
	if k.o.OnRestart != nil {
		k.o.OnRestart(n)
	}
}

func (k *Kept[C]) recordFailure(err error) {
	k.mu.Lock()
	down := *k.down
	down.Err = err
	k.down = &down
	k.mu.Unlock()
	if k.o.OnRetry != nil && k.ctx.Err() == nil {
		k.o.OnRetry(err)
	}
}

// downError returns how the current process ended. The caller holds mu.
func (k *Kept[C]) downError() *DownError {
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
