package kaged

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// renewTime is a part of the time limit of Reconfigure. It allows for a slow start of the process.
// The other parts are patience, the shutdown of the old process and the handshake of the new one.
const renewTime = 40 * time.Second

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
	p.given.Store(&s) // also for a restart after a crash
	ctx, cancel := context.WithTimeout(ctx, patience+p.manifest.ShutdownTimeout+p.dialect.handshake+renewTime)
	defer cancel()
	if err := p.gate.close(ctx); err != nil {
		return fmt.Errorf("plugin %s has calls under way and was not restarted: %w", p.manifest.Name, err)
	}
	defer p.gate.open()
	if p.closing.Load() {
		return unopened(p.manifest.Name, errShutdown)
	}
	err = p.kept.Replace(ctx, func(l *link) {
		_, _ = l.shutDown(ctx, p.manifest.ShutdownTimeout) // a process that does not end is killed
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, proc.ErrStopped), p.closing.Load():
		return unopened(p.manifest.Name, errShutdown)
	case ctx.Err() != nil:
		return errors.Join(ctx.Err(), p.Status().Err)
	}
	return err
}
