package cli

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// endWithin is how long a command may take to end after a signal. Turns get 10 s, answers 5 s, and
// a kaged plugin up to 30 s (shutdown_timeout_sec) and then the steps of its proc.Ladder.
// Supervisors kill after 90 s.
const endWithin = 75 * time.Second

// interruptible waits for a call that cannot be interrupted, such as a read from a pipe, but no
// longer than ctx. After that the process ends, and the call with it.
func interruptible[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := do()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// A watchdog makes sure that a command ends after a signal.
type watchdog struct {
	within time.Duration

	mu         sync.Mutex // protects the fields below
	foreground bool       // a program in the foreground gets the signals, and decides when it ends
	ended      time.Time  // when the last such program ended
}

// yield suspends the limit while a program in the foreground decides when to end. The caller calls
// end when that program has ended.
func (w *watchdog) yield() (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.foreground = true
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.foreground, w.ended = false, time.Now()
	}
}

// left returns the time that remains for a command that got its signal at the time told.
func (w *watchdog) left(told time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.foreground {
		return w.within
	}
	if w.ended.After(told) {
		told = w.ended
	}
	return w.within - time.Since(told)
}

// run runs a command. If the command does not end in time after ctx has ended, for instance because
// its output is not read, run returns without it. The guardian ends its plugins.
func (w *watchdog) run(ctx context.Context, stderr io.Writer, do func() int) int {
	done := make(chan int, 1)
	go func() { done <- do() }()
	select {
	case code := <-done:
		return code
	case <-ctx.Done():
	}
	for told := time.Now(); ; {
		left := w.left(told)
		if left <= 0 {
			go fmt.Fprintf(stderr, "error: interrupted, but did not end within %s\n", w.within) // on a goroutine, because stderr may not be read
			return exitInterrupted
		}
		select {
		case code := <-done:
			return code
		case <-time.After(left):
		}
	}
}
