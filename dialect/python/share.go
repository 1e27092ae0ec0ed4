package python

import (
	"context"

	"github.com/patchbay-dev/patchbay/dialect"
)

// acquire is the runner that the plugins of one host share, started where there
// is none. Whoever acquires it must release it.
func (d *Dialect) acquire(ctx context.Context, rt *dialect.Runtime) (*runner, error) {
	d.mu.Lock()
	r := d.runners[rt.Procs]
	if r == nil {
		r = newRunner(rt, d.loadTimeout)
		d.runners[rt.Procs] = r
		go r.start() // on behalf of all who wait, so that one who gives up does not end it for the others
	}
	r.holders++
	d.mu.Unlock()
	select {
	case <-r.started:
		if r.err != nil {
			d.release(ctx, r)
			return nil, r.err
		}
		return r, nil
	case <-ctx.Done():
		d.release(ctx, r)
		return nil, context.Cause(ctx)
	}
}

// release ends the runner with its last holder.
func (d *Dialect) release(ctx context.Context, r *runner) {
	d.mu.Lock()
	r.holders--
	last := r.holders == 0
	if last {
		delete(d.runners, r.launch.procs)
	}
	d.mu.Unlock()
	if last {
		r.stop(ctx)
	}
}
