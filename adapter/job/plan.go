package job

import (
	"context"
	"errors"
	"time"
)

// setBackBy is how far in the future the last tick of a schedule may be. If it is further, the tick
// came from a clock that was wrong.
const setBackBy = 5 * time.Minute

// A scheduleCheck decides what is due for one schedule.
type scheduleCheck struct {
	*Scheduler
	parts    *parts
	manifest *Manifest
	schedule *Schedule
	now      time.Time
}

// plan orders everything that is due for the schedule. It adds to next the times at which something
// will be due.
func (l *scheduleCheck) plan(ctx context.Context, next *soonest) error {
	st, err := l.loadState(ctx)
	if err != nil {
		return err
	}
	if l.isAhead(&st) {
		return l.setBack(ctx) // this changes the page, so the schedule is checked again
	}
	next.add(l.schedule.Next(l.now))
	next.add(st.NextAt)
	overdue := staleAt(&st, l.schedule.Next, l.schedule.Retry.StaleAfter)
	next.add(overdue)
	return errors.Join(l.orderTick(ctx, &st), l.orderRetry(ctx, &st), l.reportStale(ctx, overdue))
}

// loadState returns the state of the schedule. For a schedule without a state it creates one that
// begins now: earlier ticks do not run.
func (l *scheduleCheck) loadState(ctx context.Context) (State, error) {
	if st, ok := l.state(l.manifest.Agent.Name, l.schedule.ID); ok {
		return st, nil
	}
	st := State{Agent: l.manifest.Agent.Name, Schedule: l.schedule.ID, Since: l.now}
	return st, l.parts.update(ctx, st.Agent, st.Schedule, l.now, func(*page) error { return nil })
}

// isAhead reports whether the state has times that are further in the future than the clocks of
// machines that share an engine may differ. Then the clock was set back.
func (l *scheduleCheck) isAhead(st *State) bool {
	limit := l.now.Add(setBackBy)
	return st.Since.After(limit) || st.LastTick.After(limit) || st.NextAt.After(limit.Add(l.longestBackoff()))
}

// longestBackoff returns the longest wait between two attempts.
func (l *scheduleCheck) longestBackoff() time.Duration {
	most := time.Duration(0)
	for _, d := range l.schedule.Retry.Backoff {
		most = max(most, d)
	}
	return most
}

// setBack moves the times of a schedule back to now after the clock was set back. Otherwise the
// schedule would not run until the clock reaches those times again. Ticks that have run already do
// not run again: see parts.ranBefore.
func (l *scheduleCheck) setBack(ctx context.Context) error {
	return l.parts.update(ctx, l.manifest.Agent.Name, l.schedule.ID, l.now, func(pg *page) error {
		if !l.isAhead(&pg.State) {
			return nil // another process has done it
		}
		for _, t := range []time.Time{pg.LastTick, pg.Since} {
			if t.After(l.now) && t.After(pg.Ahead) {
				pg.Ahead = t
			}
		}
		pg.Since, pg.LastTick = earlier(pg.Since, l.now), earlier(pg.LastTick, l.now)
		if pg.Current != nil && pg.NextAt.After(l.now) {
			pg.NextAt = earlier(pg.NextAt, l.now.Add(backoffAfter(l.schedule.Retry.Backoff, pg.Attempt)))
			pg.Current.NextAt = pg.NextAt
		}
		return nil
	})
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// orderTick orders a run if a tick is due. If several ticks were missed, for example while the
// machine slept, it orders only the latest.
func (l *scheduleCheck) orderTick(ctx context.Context, st *State) error {
	last := st.Since
	if st.LastTick.After(last) {
		last = st.LastTick
	}
	tick, due := l.schedule.Due(last, l.now)
	if !due {
		return nil
	}
	o := newOrder(l.manifest, l.schedule, tick, false)
	if !tick.After(st.Ahead) {
		ran, err := l.parts.ranBefore(ctx, o)
		if err != nil {
			return err
		}
		if ran {
			return l.markTickDone(ctx, tick)
		}
	}
	return l.order(ctx, l.parts, o)
}

// markTickDone records that a tick has run already.
func (l *scheduleCheck) markTickDone(ctx context.Context, tick time.Time) error {
	return l.parts.update(ctx, l.manifest.Agent.Name, l.schedule.ID, l.now, func(pg *page) error {
		if tick.After(pg.LastTick) {
			pg.LastTick = tick
		}
		return nil
	})
}

// orderRetry orders the next attempt of a waiting run if it is due.
func (l *scheduleCheck) orderRetry(ctx context.Context, st *State) error {
	if st.Active == "" || st.NextAt.IsZero() || st.NextAt.After(l.now) {
		return nil
	}
	return l.order(ctx, l.parts, Order{Agent: st.Agent, Schedule: st.Schedule, Run: st.Active, Attempt: st.Attempt + 1})
}

// reportStale reports that a schedule is overdue. If several processes notice it, only the one that
// writes it into the page reports it.
func (l *scheduleCheck) reportStale(ctx context.Context, at time.Time) error {
	if at.IsZero() || at.After(l.now) {
		return nil
	}
	var st State
	err := l.parts.update(ctx, l.manifest.Agent.Name, l.schedule.ID, l.now, func(pg *page) error {
		if at := staleAt(&pg.State, l.schedule.Next, l.schedule.Retry.StaleAfter); at.IsZero() || at.After(l.now) {
			return errNotOurs // another process has reported it, or a run has succeeded meanwhile
		}
		pg.Stale = true
		st = pg.State
		return nil
	})
	if errors.Is(err, errNotOurs) {
		return nil
	}
	if err != nil {
		return err
	}
	last := "no run has succeeded yet"
	if !st.Success.IsZero() {
		last = "the last success was at " + st.Success.Format(time.RFC3339)
	}
	c := &claim{runner: l.Runner, parts: l.parts, manifest: l.manifest, schedule: l.schedule,
		run: Run{ID: st.LastRun, Agent: st.Agent, Schedule: st.Schedule, Status: st.Last}}
	c.report([]Notice{{Event: GoneStale, At: l.now, Error: last}}, "")
	return nil
}
