package job

import (
	"context"
	"errors"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/lease"
)

// ReapDead ends the active runs of agents if the process that made them has died. If that is not
// certain, it leaves the run as it is, without waiting.
func (r *Runner) ReapDead(ctx context.Context, agents []*Manifest) error {
	states, err := r.Store.States(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range agents {
		for _, s := range append([]Schedule{m.ManualSchedule()}, m.Schedules...) {
			if states[stateKey(m.Agent.Name, s.ID)].Active != "" {
				_, err := r.reap(ctx, m, &s)
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// reap ends the active run of a schedule if its process has died. If several processes do so at
// once, one of them writes and reports it. The verdict is [lease.Free] if the process had died, or
// if there is no active run.
func (r *Runner) reap(ctx context.Context, m *Manifest, s *Schedule) (lease.Verdict, error) {
	r.init()
	p, err := r.Store.parts(ctx)
	if err != nil {
		return lease.Held, err
	}
	key := stateKey(m.Agent.Name, s.ID)
	pg, _, err := p.page(ctx, key)
	if errors.Is(err, engine.ErrNotFound) || err == nil && pg.Current == nil {
		return lease.Free, nil // no run is active
	}
	if err != nil {
		return lease.Held, err
	}
	c := &claim{runner: r, parts: p, manifest: m, schedule: s, run: *pg.Current, hold: pg.Hold}
	return c.reapIfDead(ctx, key)
}

// reapIfDead ends the run of a page if its process has died.
func (c *claim) reapIfDead(ctx context.Context, key string) (lease.Verdict, error) {
	if c.run.Status == Waiting && !c.run.Manual {
		return lease.Held, nil // a scheduled run that waits belongs to no process
	}
	verdict, err := c.parts.judgeRun(ctx, key, c.hold)
	if verdict != lease.Free || err != nil {
		return verdict, err
	}
	if err := c.hold.removeTmp(); err != nil {
		c.runner.Logger.Warn("cannot remove the temporary directory of a run whose process died", "run", c.run.ID, "err", err)
	}
	ctx = context.WithoutCancel(ctx)
	if c.run.Status == Waiting {
		err = c.endAbandoned(ctx)
	} else {
		err = c.finishDeadAttempt(ctx)
	}
	if errors.Is(err, errLost) {
		err = nil // another process has done it
	}
	return lease.Free, err
}

// finishDeadAttempt ends the attempt of a run whose process has died. If the process died after it
// had written the run into the history, the result is the one in the history. Otherwise the attempt
// was cut off.
func (c *claim) finishDeadAttempt(ctx context.Context) error {
	filed, err := c.parts.findEnded(ctx, &c.run, c.run.last().Began)
	if err != nil {
		return err
	}
	if filed == nil || len(filed.Attempts) < len(c.run.Attempts) {
		return c.recordCutOff(ctx)
	}
	return c.changeRun(ctx, func(r *Run, pg *page) {
		*r = *filed
		s := &pg.State
		endRun(r, s, r.Status, r.Ended)
		switch r.Status {
		case Succeeded:
			s.Failing, s.Stale, s.Success, s.Streak = false, false, r.Ended, max(s.Streak, 0)+1
		case GivenUp:
			s.Failing, s.Streak = true, min(s.Streak, 0)-1
		}
	})
}

// recordCutOff records that an attempt ended because its process died. The attempt counts as
// failed, and attempt_failed is reported: docs/jobs.md, "Attempts and events". A manual run is
// given up, since the command that would have waited for the next attempt has died. A run whose
// cancellation was requested is cancelled.
func (c *claim) recordCutOff(ctx context.Context) error {
	last := *c.run.last()
	last.Result, last.Ended = CutOff, c.runner.clock.Now()
	last.Error = "cut off: " + c.run.Owner + " died"
	var notices []Notice
	err := c.changeRun(ctx, func(r *Run, pg *page) {
		if last := last; pg.Cancel != "" {
			last.Result, last.Error = WasCancelled, pg.Cancel
			notices = applyResult(r, &pg.State, last, nil)
			return
		}
		notices = applyResult(r, &pg.State, last, c.schedule.Retry.Backoff)
		if r.Manual && !r.Status.Over() {
			notices[0].NextAt = time.Time{} // there is no next attempt
			notices = append(notices, c.giveUpAbandoned(r, pg))
		}
	})
	if err == nil {
		c.report(notices, "")
	}
	return err
}

// endAbandoned ends a manual run that waited for its next attempt when its command died.
func (c *claim) endAbandoned(ctx context.Context) error {
	var notices []Notice
	err := c.changeRun(ctx, func(r *Run, pg *page) {
		if pg.Cancel != "" {
			r.Reason = pg.Cancel
			endRun(r, &pg.State, Cancelled, c.runner.clock.Now())
			return
		}
		notices = []Notice{c.giveUpAbandoned(r, pg)}
	})
	if err == nil {
		c.report(notices, "")
	}
	return err
}

// giveUpAbandoned gives up a manual run whose command died before the last attempt.
func (c *claim) giveUpAbandoned(r *Run, pg *page) Notice {
	r.Reason = "abandoned: " + c.run.Owner + ", which made it, died"
	last := r.last()
	return giveUp(r, &pg.State, Notice{At: c.runner.clock.Now(), Attempt: last.Number, Most: r.Most, Error: last.Error, Suggest: last.Suggest, Exit: last.ExitCode})
}
