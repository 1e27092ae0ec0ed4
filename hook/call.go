package hook

import (
	"context"
	"errors"
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
}

// Do is the one place that calls a plugin: hooks, tools and methods all pass
// here. It sets the deadline, counts, and turns an error into an [*Error] that
// says who was asked for what.
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
	c.Counters.begin()
	answer, err := ask(callCtx)
	if err != nil && errors.Is(err, context.DeadlineExceeded) && expired(ctx) {
		<-ctx.Done() // the caller's own deadline has passed: its timer may be a moment behind
	}
	c.Counters.count(err)
	if err == nil {
		return answer, nil
	}
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) && !saysItsTime(err) {
		err = Failure(Timeout, timedOut(c.Timeout))
	}
	return answer, stamp(err, c)
}

// saysItsTime tells whether err is that of a call within this one, which had
// less time and says how much.
func saysItsTime(err error) bool {
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

func (c *Counters) begin() {
	if c != nil {
		c.Pending.Add(1)
	}
}

func (c *Counters) count(err error) {
	if c == nil {
		return
	}
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
