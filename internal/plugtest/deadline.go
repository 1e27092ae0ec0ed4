package plugtest

import (
	"context"
	"time"
)

// A Ripening is a context whose deadline passes when the test says so.
type Ripening struct {
	context.Context
	given time.Duration
	over  chan struct{}
}

// NewRipening returns a context whose Deadline is always the same time from now: given.
func NewRipening(parent context.Context, given time.Duration) *Ripening {
	return &Ripening{Context: parent, given: given, over: make(chan struct{})}
}

// Ripen lets the deadline pass. It must be called once.
func (r *Ripening) Ripen() { close(r.over) }

// Deadline always returns the same distance from now.
func (r *Ripening) Deadline() (time.Time, bool) { return time.Now().Add(r.given), true }

// Done returns a channel that Ripen closes.
func (r *Ripening) Done() <-chan struct{} { return r.over }

// Err returns context.DeadlineExceeded after Ripen.
func (r *Ripening) Err() error {
	select {
	case <-r.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}
