package hook

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Calls lists the calls to plugins that are in progress, so that a program can say what a slow
// event waits for: see [WithCalls]. The zero Calls is ready to use. It is safe for concurrent use.
type Calls struct {
	mu   sync.Mutex     // protects list
	list []*PendingCall // in the order in which they began
}

// A PendingCall is a call to a plugin that has not ended yet.
type PendingCall struct {
	Plugin string
	Point  Point
	Began  time.Time
}

// WithCalls makes the events fired with ctx list their calls in c while they are in progress.
func WithCalls(ctx context.Context, c *Calls) context.Context {
	return context.WithValue(ctx, callsKey{}, c)
}

// Oldest returns the call that has been in progress for the longest time. ok is false if there is
// none.
func (c *Calls) Oldest() (call PendingCall, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) == 0 {
		return PendingCall{}, false
	}
	return *c.list[0], true
}

// add lists a call until remove is called with the result. A nil Calls lists nothing.
func (c *Calls) add(h *Hook, p Point, began time.Time) *PendingCall {
	if c == nil {
		return nil
	}
	call := &PendingCall{h.Plugin, p, began}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, call)
	return call
}

func (c *Calls) remove(call *PendingCall) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = slices.DeleteFunc(c.list, func(other *PendingCall) bool { return other == call })
}
