package job

import (
	"context"
	"errors"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

// bury records that a run's attempt was cut off together with the process that made it. The rulings: "An attempt cut off
// by the death of the daemon is counted as failed when it comes back, and attempt_failed is emitted then".
func (r *Runner) bury(ctx context.Context, m *Manifest, s *Schedule, id string) error {
	r.init()
	p, err := r.Store.parts(ctx)
	if err != nil {
		return err
	}
	run, revision, err := get[Run](ctx, p.runs, id)
	if err != nil || run.Status != Running {
		return err
	}
	c := &claim{runner: r, parts: p, manifest: m, schedule: s, run: run, revision: revision}
	last := *run.last()
	last.Result, last.Ended = CutOff, r.clock.Now()
	last.Error = "cut off: " + run.Owner + " died"
	// The record first: of several who find the dead, one tells.
	run.Attempts = append([]Attempt(nil), run.Attempts...)
	run.Attempts[len(run.Attempts)-1] = last
	run.Owner = r.Owner
	if c.revision, err = put(ctx, p.runs, id, &run, revision); err != nil {
		if errors.Is(err, engine.ErrConflict) {
			return nil
		}
		return err
	}
	c.run = run
	if err := c.settle(ctx, last, ""); !errors.Is(err, engine.ErrConflict) { // somebody else was quicker after all
		return err
	}
	return nil
}

// mend brings the state of a schedule up to date with the record of its active run: its process died, or was about to write
// the state when it did.
func (r *Runner) mend(ctx context.Context, m *Manifest, s *Schedule, st State) error {
	r.init()
	p, err := r.Store.parts(ctx)
	if err != nil {
		return err
	}
	run, revision, err := get[Run](ctx, p.runs, st.Active)
	if errors.Is(err, engine.ErrNotFound) { // it died before the record was there, or the record is too old
		run, err = Run{ID: st.Active, Status: GivenUp, Ended: r.clock.Now()}, nil
	}
	if err != nil {
		return err
	}
	alive, err := r.alive(ctx, p, run.ID)
	if err != nil || alive {
		return err
	}
	switch {
	case run.Status == Running:
		return r.bury(ctx, m, s, run.ID)
	case run.Status == Waiting && !run.Manual && !st.NextAt.IsZero():
		return nil // as it should be
	case run.Status == Waiting && run.Manual:
		if err := r.abandon(ctx, p, &run, revision); err != nil {
			return err
		}
	}
	return updateState(ctx, p.states, m.Agent.Name, s.ID, r.clock.Now(), func(st *State) {
		if st.Active != run.ID {
			return
		}
		if run.Status == Waiting {
			st.NextAt, st.Attempt = run.NextAt, len(run.Attempts)
			return
		}
		over(&run, st, run.Status, run.Ended)
		if st.Failing = run.Status != Succeeded; !st.Failing {
			st.Stale, st.Success, st.Streak = false, run.Ended, max(st.Streak, 0)+1
		} else {
			st.Streak = min(st.Streak, 0) - 1
		}
	})
}

// abandon ends a run that a person asked for and that nobody waits with any more: the person has seen that it failed, and left.
func (r *Runner) abandon(ctx context.Context, p *parts, run *Run, revision uint64) error {
	run.Status, run.Ended, run.NextAt = GivenUp, r.clock.Now(), time.Time{}
	run.Reason = "abandoned: the command that made it ended"
	_, err := put(ctx, p.runs, run.ID, run, revision)
	if errors.Is(err, engine.ErrConflict) {
		return nil // somebody else did
	}
	return err
}

// alive tells whether a run has given a sign of life of late.
func (r *Runner) alive(ctx context.Context, p *parts, run string) (bool, error) {
	_, err := p.beats.Get(ctx, run)
	if errors.Is(err, engine.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// mendFirst looks after a run of the schedule whose process has died, so that it does not stand in the way.
func (r *Runner) mendFirst(ctx context.Context, m *Manifest, s *Schedule) error {
	p, err := r.Store.parts(ctx)
	if err != nil {
		return err
	}
	st, _, err := get[State](ctx, p.states, stateKey(m.Agent.Name, s.ID))
	if errors.Is(err, engine.ErrNotFound) || err == nil && st.Active == "" {
		return nil
	}
	if err != nil {
		return err
	}
	return r.mend(ctx, m, s, st)
}
