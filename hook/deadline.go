package hook

import (
	"context"
	"sync"
	"time"
)

// deadline is a context with a deadline that sets its timer only when somebody waits for it. Most
// calls are answered before anybody does, and a timer for each would cost as much as translating
// the event.
type deadline struct {
	context.Context // the caller's
	at              time.Time

	mu    sync.Mutex      // protects the fields below
	real  context.Context // nil until somebody waits
	stop  context.CancelFunc
	ended bool
}

// withDeadline is context.WithDeadline, at the cost of one allocation. end frees it.
func withDeadline(parent context.Context, at time.Time) *deadline {
	if own, ok := parent.Deadline(); ok && own.Before(at) {
		at = own
	}
	return &deadline{Context: parent, at: at}
}

// Deadline is known without a timer.
func (c *deadline) Deadline() (time.Time, bool) { return c.at, true }

// Done sets the timer.
func (c *deadline) Done() <-chan struct{} { return c.wait().Done() }

// Err needs no timer either.
func (c *deadline) Err() error {
	c.mu.Lock()
	real := c.real
	c.mu.Unlock()
	switch {
	case real != nil:
		return real.Err()
	case c.Context.Err() != nil:
		return c.Context.Err()
	case !time.Now().Before(c.at):
		return context.DeadlineExceeded
	}
	return nil
}

// wait is the context with the timer.
func (c *deadline) wait() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.real == nil {
		c.real, c.stop = context.WithDeadline(c.Context, c.at)
		if c.ended {
			c.stop()
		}
	}
	return c.real
}

// end is the end of the call: whoever still waits is let go.
func (c *deadline) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.stop != nil {
		c.stop()
	}
}
