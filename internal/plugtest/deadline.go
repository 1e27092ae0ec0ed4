package plugtest

import (
	"context"
	"time"
)

// A Ripening is a context whose deadline comes when the test says so.
type Ripening struct {
	context.Context
	given time.Duration
	over  chan struct{}
}

// NewRipening returns one that pretends its deadline is that far away.
func NewRipening(parent context.Context, given time.Duration) *Ripening {
	return &Ripening{Context: parent, given: given, over: make(chan struct{})}
}

// Ripen lets the deadline come. It is called once.
func (r *Ripening) Ripen() { close(r.over) }

// Deadline is as far away as ever.
func (r *Ripening) Deadline() (time.Time, bool) { return time.Now().Add(r.given), true }

// Done is closed by Ripen.
func (r *Ripening) Done() <-chan struct{} { return r.over }

// Err is context.DeadlineExceeded after Ripen.
func (r *Ripening) Err() error {
	select {
	case <-r.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}
