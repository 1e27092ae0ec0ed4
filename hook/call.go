package hook

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"
)

// A Call names what is asked of a plugin.
type Call struct {
	Plugin   string
	Dialect  string
	Name     string        // hook, tool or method, in the dialect's words
	Point    Point         // "" for tools and methods
	Timeout  time.Duration // 0: only the caller's deadline
	Began    time.Time     // what the timeout counts from; zero: now
	Counters *Counters     // may be nil
}

// Counters count the calls to one plugin.
type Counters struct {
	Pending  atomic.Int64 // those under way
	Calls    atomic.Int64 // those that are over
	Errors   atomic.Int64
	Timeouts atomic.Int64

	recent [recentCalls]atomic.Uint32 // microseconds of the last calls, each in the place of one so many calls before
	next   atomic.Uint32
}

// recentCalls is how many calls are remembered by how long they took: as many as a small line in a
// picture has points.
const recentCalls = 64

// Recent is how long the last calls took, in microseconds, the oldest first. While calls end it may
// be one off.
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

// recordDuration remembers how long a call took. No call takes no time at all.
func (c *Counters) recordDuration(d time.Duration) {
	us := min(max(d.Microseconds(), 1), math.MaxUint32)
	c.recent[(c.next.Add(1)-1)%recentCalls].Store(uint32(us))
}

// Do is the one place that calls a plugin: hooks, tools and methods all pass here. It sets the
// deadline, counts, and turns an error into an [*Error] that says who was asked for what.
func Do[T any](ctx context.Context, c *Call, ask func(context.Context) (T, error)) (T, error) {
	callCtx := ctx
	if c.Timeout > 0 {
		if c.Began.IsZero() {
			c.Began = time.Now()
		}
		limited := withDeadline(ctx, c.Began.Add(c.Timeout))
		defer limited.end()
		callCtx = limited
	}
	began := c.Counters.begin()
	answer, err := ask(callCtx)
	if err != nil && errors.Is(err, context.DeadlineExceeded) && expired(ctx) {
		<-ctx.Done() // the caller's own deadline has passed: its timer may be a moment behind
	}
	c.Counters.count(began, err)
	if err == nil {
		return answer, nil
	}
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) && !isInnerTimeout(err) {
		err = Failure(Timeout, timedOut(c.Timeout))
	}
	return answer, newCallError(err, c)
}

// isInnerTimeout tells whether err is that of a call within this one, which had less time and says how
// much.
func isInnerTimeout(err error) bool {
	_, ok := errors.AsType[timedOut](err)
	return ok
}

// expired tells whether the caller's own deadline has passed.
func expired(ctx context.Context) bool {
	at, ok := ctx.Deadline()
	return ok && !time.Now().Before(at)
}

// timedOut is a call that took longer than it may.
type timedOut time.Duration

func (t timedOut) Error() string { return "timed out after " + time.Duration(t).String() }

// Unwrap makes it what contexts return as well.
func (timedOut) Unwrap() error { return context.DeadlineExceeded }

func (c *Counters) begin() (began time.Time) {
	if c != nil {
		c.Pending.Add(1)
		began = time.Now()
	}
	return began
}

func (c *Counters) count(began time.Time, err error) {
	if c == nil {
		return
	}
	c.recordDuration(time.Since(began))
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
