package kaged

import (
	"context"
	"sync"
	"time"
)

// A gate lets calls through to a process, and keeps them waiting while the process is exchanged for
// another. It is exchanged between two calls: none is under way then.
type gate struct {
	mu    sync.Mutex    // protects the fields below
	calls int           // under way
	shut  chan struct{} // closed when the gate opens again; nil: it is open
	quiet chan struct{} // closed when the last call under way ends; nil if no restart is waiting
}

// enter waits until the gate is open.
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

// patience is how long a gate waits for a moment without calls before it keeps new ones waiting: a
// hook behind a slow tool would run out of time.
const patience = time.Minute

// close waits until no call is under way, and lets no other begin. One at a time may close a gate.
// Where ctx ends first, the gate stays open.
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
				return g.settle(ctx, quiet)
			}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// settle waits for the calls under way behind a gate that is shut.
func (g *gate) settle(ctx context.Context, quiet chan struct{}) error {
	select {
	case <-quiet:
		return nil
	case <-ctx.Done():
		g.open()
		return ctx.Err()
	}
}

// tryClose shuts the gate where no call is under way, or in any case. Where some are, it returns
// what tells that they have ended.
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
