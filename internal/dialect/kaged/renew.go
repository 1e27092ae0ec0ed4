package kaged

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// renewTime is a part of the time limit of Reconfigure. It allows for a slow start of the process.
// The other parts are patience, the shutdown of the old process and the handshake of the new one.
const renewTime = 40 * time.Second

// A renewal reports the outcome of one restart of the process.
type renewal struct {
	mu     sync.Mutex // protects waiter
	waiter chan error // nil: no restart was requested
}

// expect returns a channel that gets the result of the next start: its error, or nil.
func (r *renewal) expect() <-chan error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiter = make(chan error, 1)
	return r.waiter
}

func (r *renewal) tell(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiter != nil {
		r.waiter <- err
		r.waiter = nil
	}
}

// waiting reports whether a restart was requested.
func (r *renewal) waiting() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiter != nil
}

// Reconfigure gives the plugin a new configuration. The protocol has no message for that, so the
// process is shut down between two calls and a new one is started; calls wait meanwhile. See
// docs/protocols/kaged.md, row K54.
func (p *plugin) Reconfigure(ctx context.Context, s dialect.Settings) error {
	p.renewing.Lock()
	defer p.renewing.Unlock()
	s, err := complete(p.manifest, s)
	if err != nil {
		return unopened(p.manifest.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience+p.manifest.ShutdownTimeout+p.dialect.handshake+renewTime)
	defer cancel()
	if err := p.gate.close(ctx); err != nil {
		return fmt.Errorf("plugin %s has calls under way and was not restarted: %w", p.manifest.Name, err)
	}
	defer p.gate.open()
	if p.closing.Load() {
		return unopened(p.manifest.Name, errShutdown)
	}
	p.given.Store(&s)
	outcome := p.renewal.expect()
	p.kept.Replace(func(l *link) {
		_, _ = l.shutDown(ctx, p.manifest.ShutdownTimeout) // the loop that keeps the process learns how it ended
	})
	select {
	case err := <-outcome:
		return err
	case <-ctx.Done():
		return errors.Join(ctx.Err(), p.Status().Err)
	case <-p.ended:
		return unopened(p.manifest.Name, errShutdown)
	}
}
