package kaged

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
)

// A heart sends health.check at intervals: docs/protocols/kaged.md, rows K81 and K82. It decides
// only when to ping and how long to wait for the answer. The functions in its fields do the rest.
type heart struct {
	every  time.Duration                   // between pings
	within time.Duration                   // the time for an answer
	gate   *gate                           // shut while the process is replaced: then there is no process to answer
	ping   func(ctx context.Context) error // returns nil if the plugin answered, otherwise why not
	busy   func() <-chan struct{}          // returns a channel that is closed when the calls that are under way now have ended
	lost   func(err error)                 // is called if the plugin did not answer
}

// beat pings until ctx ends.
func (h *heart) beat(ctx context.Context) {
	tick := time.NewTicker(h.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if h.gate.enter(ctx) != nil {
			return
		}
		err := h.ask(ctx)
		if ctx.Err() == nil && !alive(err) {
			h.lost(err)
		}
		h.gate.leave()
	}
}

// countDelay is how long after a ping the calls under way are counted. By then the ping has been
// sent, so no call that was sent before it is missed.
const countDelay = 100 * time.Millisecond

// ask pings once. A plugin that handles one request at a time cannot answer before it has answered
// the earlier ones. So its time begins when the calls that came before the ping have ended, which
// their own timeouts guarantee.
func (h *heart) ask(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- h.ping(ctx) }()
	began := time.Now()
	late := time.NewTimer(min(countDelay, h.within))
	defer late.Stop()
	select {
	case err := <-answer:
		return err
	case <-late.C:
	}
	left := h.within - time.Since(began)
	ended := h.busy()
	select {
	case <-ended: // there are no calls
	default:
		select {
		case err := <-answer:
			return err
		case <-ended:
			left = h.within
		}
	}
	late.Reset(left)
	select {
	case err := <-answer:
		return err
	case <-late.C:
	}
	cancel()
	if err := <-answer; !errors.Is(err, context.Canceled) {
		return err
	}
	return context.DeadlineExceeded
}

// A load counts the calls that are under way.
type load struct {
	mu    sync.Mutex    // protects the fields below
	calls int           // under way
	round int           // how often [load.ended] was called
	older int           // how many of the calls under way began before [load.ended] was called last
	quiet chan struct{} // the channel that [load.ended] returned last; nil: it is closed
}

// begin counts a call, and returns the round, which must be passed to end.
func (l *load) begin() (round int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	return l.round
}

func (l *load) end(round int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls--
	if round == l.round {
		return
	}
	if l.older--; l.older == 0 && l.quiet != nil {
		close(l.quiet)
		l.quiet = nil
	}
}

// ended returns a channel that is closed when the calls that are under way now have ended. Calls
// that begin later do not count. The channel that ended returned before is never closed any more.
func (l *load) ended() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.round++
	l.older = l.calls
	quiet := make(chan struct{})
	if l.older == 0 {
		close(quiet)
		return quiet
	}
	l.quiet = quiet
	return quiet
}

// alive reports whether the heart leaves a plugin alone after a ping that returned err. Any reply
// is a sign of life, even an error: docs/protocols/kaged.md, row K81. A plugin that has exited is
// left alone too, because proc.Keep restarts it.
func alive(err error) bool {
	switch {
	case err == nil, errors.Is(err, hook.Refused), errors.Is(err, hook.Garbled), errors.Is(err, hook.TooLarge):
		return true // it replied
	case errors.Is(err, hook.Crash), errors.Is(err, hook.Unavailable):
		return true // proc.Keep restarts it
	}
	return false
}
