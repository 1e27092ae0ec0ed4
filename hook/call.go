package hook

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"
)

// A Call describes one call to a plugin.
type Call struct {
	Plugin   string
	Dialect  string
	Name     string        // the hook, tool or method, as the dialect names it
	Point    Point         // "" for tools and methods
	Timeout  time.Duration // 0: only the caller's deadline applies
	Began    time.Time     // when the timeout starts to count; zero: now
	Took     time.Duration // set by Do: the time from Began to the end of the call
	Counters *Counters     // may be nil
}

// Counters counts the calls to one plugin.
type Counters struct {
	Pending  atomic.Int64 // calls in progress
	Calls    atomic.Int64 // calls that have ended, failed ones included
	Errors   atomic.Int64
	Timeouts atomic.Int64

	recent [recentCalls]atomic.Uint32 // a ring: microseconds of the last calls
	next   atomic.Uint32              // the place in recent that the next call overwrites
}

// recentCalls is the number of calls whose duration is stored: one for each point of the small
// graph that the web page draws.
const recentCalls = 64

// Recent returns how long the last calls took, in microseconds, oldest first. If a call ends at the
// same time, one value may be out of order.
func (c *Counters) Recent() []uint32 {
	next := c.next.Load()
	out := make([]uint32, 0, recentCalls)
	for i := range uint32(recentCalls) {
		if us := c.recent[(next+i)%recentCalls].Load(); us > 0 {
			out = append(out, us)
		}
	}
	return out
}

// recordDuration stores the duration of one call: at least 1, because 0 marks an empty place.
func (c *Counters) recordDuration(d time.Duration) {
	us := min(max(d.Microseconds(), 1), math.MaxUint32)
	c.recent[(c.next.Add(1)-1)%recentCalls].Store(uint32(us))
}

// Do calls a plugin. Every hook, tool, method and command of a plugin is called through Do. It sets
// the deadline, counts the call, and turns an error into an [*Error] that names the plugin, the
// hook and the point.
func Do[T any](ctx context.Context, c *Call, ask func(context.Context) (T, error)) (T, error) {
	if c.Began.IsZero() {
		c.Began = time.Now()
	}
	callCtx := ctx
	if c.Timeout > 0 {
		limited := withDeadline(ctx, c.Began.Add(c.Timeout))
		defer limited.end()
		callCtx = limited
	}
	c.Counters.begin()
	answer, err := ask(callCtx)
	if err != nil && errors.Is(err, context.DeadlineExceeded) && expired(ctx) {
		<-ctx.Done() // the caller's deadline has passed, but its timer may fire a moment later
	}
	c.Took = time.Since(c.Began)
	c.Counters.count(c.Took, err)
	if err == nil {
		return answer, nil
	}
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) && !isInnerTimeout(err) {
		err = Failure(Timeout, timedOut(c.Timeout))
	}
	return answer, newCallError(err, c)
}

// isInnerTimeout reports whether err comes from a nested Do, whose shorter timeout is already in
// the message.
func isInnerTimeout(err error) bool {
	_, ok := errors.AsType[timedOut](err)
	return ok
}

// expired reports whether the deadline of ctx has passed.
func expired(ctx context.Context) bool {
	at, ok := ctx.Deadline()
	return ok && !time.Now().Before(at)
}

// timedOut is the error of a call that took longer than its timeout.
type timedOut time.Duration

func (t timedOut) Error() string { return "timed out after " + time.Duration(t).String() }

// Unwrap lets errors.Is(err, context.DeadlineExceeded) succeed.
func (timedOut) Unwrap() error { return context.DeadlineExceeded }

func (c *Counters) begin() {
	if c != nil {
		c.Pending.Add(1)
	}
}

func (c *Counters) count(took time.Duration, err error) {
	if c == nil {
		return
	}
	c.recordDuration(took)
	c.Pending.Add(-1)
	c.Calls.Add(1)
	if err == nil {
		return
	}
	c.Errors.Add(1)
	if errors.Is(err, Timeout) || errors.Is(err, context.DeadlineExceeded) {
		c.Timeouts.Add(1)
	}
}
