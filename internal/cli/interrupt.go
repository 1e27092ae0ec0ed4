package cli

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// endWithin is how long a command may take to end after a signal. Turns have 10 s then, answers 5
// s, and a kaged plugin up to 30 s (shutdown_timeout_sec) and the stop ladder; supervisors kill
// after 90 s.
const endWithin = 75 * time.Second

// interruptible waits for what cannot be interrupted, such as a read from a pipe, but no longer
// than ctx. The process ends then, and what is waited for with it.
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

// A watchdog sees that a command ends when it is told to.
type watchdog struct {
	within time.Duration

	mu         sync.Mutex // protects the fields below
	foreground bool       // a program runs to which signals are passed on: it decides when it ends
	ended      time.Time  // when the last such program ended
}

// yield says that a program in the foreground decides from now on; the function it returns says
// that it has ended.
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

// left is how much of its time a command has left that was told to end at a moment.
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

// run runs a command. Once ctx has ended, a command that still waits, for instance for somebody to
// read its output, is left where it is: the guardian ends its plugins.
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
			go fmt.Fprintf(stderr, "error: interrupted, but did not end within %s\n", w.within) // nobody may be reading it
			return exitInterrupted
		}
		select {
		case code := <-done:
			return code
		case <-time.After(left):
		}
	}
}
