package job

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ManualSchedule returns the schedule for runs that a person starts if the agent has no schedules.
func (m *Manifest) ManualSchedule() Schedule { return Schedule{ID: "manual", Retry: m.Defaults} }

// RunOptions configure a run that a person starts.
type RunOptions struct {
	Attempts int       // the maximum number of attempts; 0: that of the schedule
	Began    func(Run) // called when an attempt begins; may be nil

	// Wait is called when the run begins to wait for its next attempt; it may be nil. It must
	// return immediately. The attempt is made early if the returned channel is closed. The context
	// ends when the wait ends.
	Wait func(context.Context, Run) (skip <-chan struct{})

	// With Insist, results are recorded as those of a schedule are: if the engine cannot write, the
	// runner tries again until it can. Without Insist, RunNow returns that error.
	Insist bool
}

// RunNow makes a run with all its attempts now, even if the schedule is not due. It returns
// [ErrBusy], and records nothing, if the previous run of the schedule is not over. If ctx ends, the
// run ends as [Cancelled], which is not an error.
func (r *Runner) RunNow(ctx context.Context, m *Manifest, s *Schedule, o RunOptions) (Run, error) {
	r.init()
	p, err := r.Store.parts(ctx)
	if err != nil {
		return Run{}, err
	}
	order := newOrder(m, s, r.clock.Now().UTC().Truncate(time.Millisecond), true)
	if o.Attempts > 0 {
		some := *s
		some.Retry.Attempts = o.Attempts
		s = &some
	}
	ctx, done := r.track(ctx, order.Run)
	defer done()
	defer r.watchForCancel(ctx, p, stateKey(m.Agent.Name, s.ID))()
	for {
		c, err := r.claim(ctx, order, m, s)
		if err != nil {
			return Run{}, fmt.Errorf("%s/%s: %w", m.Agent.Name, s.ID, err)
		}
		if c == nil { // another manual run began in the same millisecond, or this one was cancelled
			return r.unclaimedError(ctx, order)
		}
		c.insist = o.Insist
		if over, err := c.runOnce(ctx, o); over || err != nil {
			return c.run, err
		}
		order.Attempt++
	}
}

// runOnce makes one attempt and then waits until the next attempt is due, if there is one.
func (c *claim) runOnce(ctx context.Context, o RunOptions) (over bool, err error) {
	if o.Began != nil {
		o.Began(c.run)
	}
	if err := c.makeAttempt(ctx); err != nil || c.run.Status.Over() {
		return true, err
	}
	err = c.waitForRetry(ctx, o)
	if err == nil || errors.Is(err, errLost) {
		return false, err
	}
	return true, c.cancelWaiting(context.WithoutCancel(ctx), err.Error()) // the caller stopped waiting: cancel the run
}

// DryRun makes one attempt with AGENT_DRY_RUN set and without sinks. It records nothing. It returns
// the attempt and the events that a run would have reported.
func (r *Runner) DryRun(ctx context.Context, m *Manifest, s *Schedule) (Attempt, []Report) {
	r.init()
	now := r.clock.Now()
	run := Run{ID: runID(m.Agent.Name, s.ID, now, true), Agent: m.Agent.Name, Schedule: s.ID, Tick: now, Manual: true, Status: Running,
		Began: now, Most: s.Retry.Attempts, Owner: r.Owner, Attempts: []Attempt{{Number: 1, Began: now}}}
	out := &output{store: func(l Line) {
		l.Attempt, l.Time = 1, r.clock.Now().UTC()
		if r.Watch != nil {
			r.Watch(run.ID, l)
		}
	}}
	a := attempt{runner: r, manifest: m, schedule: s, run: &run, number: 1, dryRun: true, out: out}
	result := a.make(ctx)
	var reports []Report
	for _, n := range markMerged(applyResult(&run, &State{}, result, s.Retry.Backoff)) {
		reports = append(reports, Report{Notice: n, Manifest: m, Run: &run, Output: out.tail()})
	}
	return result, reports
}

// errSkipped ends the wait for an attempt that is made early.
var errSkipped = errors.New("the wait is skipped")

// waitForRetry waits until the next attempt is due, and sends heartbeats meanwhile.
func (c *claim) waitForRetry(ctx context.Context, o RunOptions) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if o.Wait != nil {
		if skip := o.Wait(ctx, c.run); skip != nil {
			go func() {
				select {
				case <-skip:
					cancel(errSkipped)
				case <-ctx.Done():
				}
			}()
		}
	}
	defer c.keepAlive(ctx, cancel)()
	clock := c.runner.clock
	now := clock.Now()
	for left := c.run.NextAt.Sub(now); ctx.Err() == nil && left > 0; {
		clock.Sleep(ctx, now, now.Add(left))
		now = clock.Now()
		left = min(left, c.run.NextAt.Sub(now)) // a clock that is set back does not make the wait longer
	}
	if err := context.Cause(ctx); !errors.Is(err, errSkipped) {
		return err
	}
	return nil
}

// unclaimedError says why a run could not be claimed.
func (r *Runner) unclaimedError(ctx context.Context, o Order) (Run, error) {
	run, err := r.Store.Run(context.WithoutCancel(ctx), o.Run)
	if err == nil && !run.Status.Over() {
		err = fmt.Errorf("%s/%s: %w: %s", o.Agent, o.Schedule, ErrBusy, run.ID)
	}
	return run, err
}
