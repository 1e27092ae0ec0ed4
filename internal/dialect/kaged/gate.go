package kaged

import (
	"context"
	"sync"
	"time"
)

// A gate lets calls through to a process, and makes them wait while the process is replaced. The
// process is replaced when no call is under way.
type gate struct {
	mu    sync.Mutex    // protects the fields below
	calls int           // calls under way
	shut  chan struct{} // closed when the gate opens again; nil: it is open
	quiet chan struct{} // closed when the last call under way ends; nil: close does not wait for it
}

// enter waits until the gate is open, and counts the call.
func (g *gate) enter(ctx context.Context) error {
	for {
		g.mu.Lock()
		shut := g.shut
		if shut == nil {
			g.calls++
		}
		g.mu.Unlock()
		if shut == nil {
			return nil
		}
		select {
		case <-shut:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls--; g.calls == 0 && g.quiet != nil {
		close(g.quiet)
		g.quiet = nil
	}
}

// patience is how long close waits for a moment without calls before it makes new calls wait. If it
// did so at once, a hook that waits for a slow tool would time out.
const patience = time.Minute

// close waits until no call is under way, and makes new calls wait. Only one goroutine at a time
// may call it. If ctx ends first, the gate stays open.
func (g *gate) close(ctx context.Context) error {
	force := time.After(patience)
	for {
		quiet := g.tryClose(false)
		if quiet == nil {
			return nil
		}
		select {
		case <-quiet:
		case <-force:
			if quiet = g.tryClose(true); quiet != nil {
				return g.awaitCalls(ctx, quiet)
			}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// awaitCalls waits for the calls under way, with the gate shut.
func (g *gate) awaitCalls(ctx context.Context, quiet chan struct{}) error {
	select {
	case <-quiet:
		return nil
	case <-ctx.Done():
		g.open()
		return ctx.Err()
	}
}

// tryClose shuts the gate if no call is under way, or if anyway is set. It returns nil if there are
// no calls; otherwise a channel that is closed when the last one has ended.
func (g *gate) tryClose(anyway bool) (quiet chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls == 0 || anyway {
		g.shut = make(chan struct{})
	}
	if g.calls == 0 {
		return nil
	}
	if g.quiet == nil {
		g.quiet = make(chan struct{})
	}
	return g.quiet
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.shut)
	g.shut = nil
}
