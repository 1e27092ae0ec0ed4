package hook

import (
	"context"
	"sync"
	"time"
)

// A deadline is a context with a deadline. It starts a timer only when Done is called. Most calls
// are answered before that, and a timer for each would cost as much as translating the event.
type deadline struct {
	context.Context // the caller's
	at              time.Time

	mu    sync.Mutex      // protects the fields below
	real  context.Context // nil until Done is called
	stop  context.CancelFunc
	ended bool
}

// withDeadline works as context.WithDeadline, with one allocation. The caller must call end.
func withDeadline(parent context.Context, at time.Time) *deadline {
	if own, ok := parent.Deadline(); ok && own.Before(at) {
		at = own
	}
	return &deadline{Context: parent, at: at}
}

// Deadline returns the deadline. It starts no timer.
func (c *deadline) Deadline() (time.Time, bool) { return c.at, true }

// Done starts the timer, if it is not running, and returns its channel.
func (c *deadline) Done() <-chan struct{} { return c.wait().Done() }

// Err reports whether the context has ended. It starts no timer.
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

// wait returns the context that has the timer, and makes it on the first call.
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

// end cancels the context when the call is over.
func (c *deadline) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.stop != nil {
		c.stop()
	}
}
