package python

import (
	"context"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// share is who shares a runner: the plugins of a host, or one plugin alone.
type share struct {
	procs *proc.Group
	alone string // the file of a plugin that has a sandbox or limits of its own
}

// shareOf is where a plugin belongs.
func shareOf(f dialect.Found, rt *dialect.Runtime) share {
	s := share{procs: rt.Procs}
	if rt.Box != nil || rt.Limits != (dialect.Limits{}) {
		s.alone = f.Path
	}
	return s
}

// acquire is the runner that the plugins of one host share, started where there is none. Whoever
// acquires it must release it.
func (d *Dialect) acquire(ctx context.Context, f dialect.Found, rt *dialect.Runtime) (*runner, error) {
	key := shareOf(f, rt)
	d.mu.Lock()
	r := d.runners[key]
	if r == nil {
		r = newRunner(rt, d.loadTimeout)
		r.share = key
		if key.alone != "" {
			r.launch.confine = func(s proc.Spec) proc.Spec { return rt.Confined(s, f.Path) }
		}
		d.runners[key] = r
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
		delete(d.runners, r.share)
	}
	d.mu.Unlock()
	if last {
		r.stop(ctx)
	}
}
