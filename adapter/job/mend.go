package job

import (
	"context"
	"errors"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

// mend looks after the active run of a schedule: has its process died, and how far had it come? Of several who do, one writes it
// down and tells.
func (r *Runner) mend(ctx context.Context, m *Manifest, s *Schedule) error {
	r.init()
	p, err := r.Store.parts(ctx)
	if err != nil {
		return err
	}
	key := stateKey(m.Agent.Name, s.ID)
	pg, _, err := p.page(ctx, key)
	if errors.Is(err, engine.ErrNotFound) || err == nil && (pg.Now == nil || pg.Now.Status == Waiting && !pg.Now.Manual) {
		return nil // as it should be
	}
	if err != nil {
		return err
	}
	if alive, err := p.alive(ctx, key); alive || err != nil {
		return err
	}
	c := &claim{runner: r, parts: p, manifest: m, schedule: s, run: *pg.Now}
	if pg.Now.Status == Waiting {
		err = c.abandon(ctx)
	} else {
		err = c.conclude(ctx)
	}
	if errors.Is(err, errLost) {
		return nil // somebody else was quicker
	}
	return err
}

// conclude ends the attempt of a run whose process has died: as the history has it, where it died only after that.
func (c *claim) conclude(ctx context.Context) error {
	filed, err := c.parts.filed(ctx, &c.run, c.run.last().Began)
	if err != nil {
		return err
	}
	if filed == nil || len(filed.Attempts) < len(c.run.Attempts) {
		return c.bury(ctx)
	}
	return c.change(ctx, func(r *Run, s *State) {
		*r = *filed
		over(r, s, r.Status, r.Ended)
		if s.Failing = r.Status != Succeeded; !s.Failing {
			s.Stale, s.Success, s.Streak = false, r.Ended, max(s.Streak, 0)+1
		} else {
			s.Streak = min(s.Streak, 0) - 1
		}
	})
}

// bury records that a run's attempt was cut off together with the process that made it. The rulings: "An attempt cut off
// by the death of the daemon is counted as failed when it comes back, and attempt_failed is emitted then".
func (c *claim) bury(ctx context.Context) error {
	last := *c.run.last()
	last.Result, last.Ended = CutOff, c.runner.clock.Now()
	last.Error = "cut off: " + c.run.Owner + " died"
	return c.settle(ctx, last, "")
}

// abandon ends a run that a person asked for and that nobody waits with any more: the person has seen that it failed, and left.
func (c *claim) abandon(ctx context.Context) error {
	return c.change(ctx, func(r *Run, s *State) {
		r.Reason = "abandoned: the command that made it ended"
		over(r, s, GivenUp, c.runner.clock.Now())
		s.Failing, s.Streak = true, min(s.Streak, 0)-1
	})
}

// alive tells whether the run of a schedule has given a sign of life of late.
func (p *parts) alive(ctx context.Context, key string) (bool, error) {
	_, err := p.beats.Get(ctx, key)
	if errors.Is(err, engine.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
