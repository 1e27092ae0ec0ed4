package python

import (
	"context"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// A share identifies a runner: that of all plugins of a host, or that of a single plugin.
type share struct {
	procs *proc.Group
	alone string // the file of a plugin with a sandbox or limits
}

// shareOf returns the share of a plugin.
func shareOf(f dialect.Found, rt *dialect.Runtime) share {
	s := share{procs: rt.Procs}
	if rt.Box != nil || rt.Limits != (dialect.Limits{}) {
		s.alone = f.Path
	}
	return s
}

// acquire returns the runner of a plugin, and starts it if there is none. The caller must release
// it.
func (d *Dialect) acquire(ctx context.Context, f dialect.Found, rt *dialect.Runtime) (*runner, error) {
	key := shareOf(f, rt)
	d.mu.Lock()
	r := d.runners[key]
	if r == nil {
		r = newRunner(rt, d)
		r.share = key
		if key.alone != "" {
			r.launch.confine = func(s proc.Spec) proc.Spec { return rt.Confined(s, f.Path) }
		}
		d.runners[key] = r
		go r.start() // not with the caller's ctx: other callers wait for it too
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

// release stops the runner when its last holder releases it.
func (d *Dialect) release(ctx context.Context, r *runner) {
	d.mu.Lock()
	r.holders--
	last := r.holders == 0
	if last {
		delete(d.runners, r.share)
	}
	d.mu.Unlock()
	if last {
		r.stop(ctx)
	}
}
