package job

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/pause"
)

const (
	// cancelWait bounds how long [Runner.Cancel] waits for a run to end: its program has five
	// seconds from SIGTERM to SIGKILL.
	cancelWait = 15 * time.Second
	cancelPoll = 20 * time.Millisecond // between two looks
)

var (
	// ErrOver is returned for a run that cannot be cancelled because it is over.
	ErrOver = errors.New("the run is over")
	// ErrStillRuns is returned for a run that was asked to end and has not yet.
	ErrStillRuns = errors.New("the run was asked to end and has not yet: whoever makes it does not answer, or its program does not end")

	// errCancelled ends the context of a run that somebody wants to end.
	errCancelled = errors.New("cancelled")
)

// A cancelledError is errCancelled with who wanted it.
type cancelledError struct{ by string }

func (e *cancelledError) Error() string { return e.by }
func (e *cancelledError) Unwrap() error { return errCancelled }

// Cancel ends a run on purpose, whichever process makes it on whichever machine, and returns it
// when it is over: as [Cancelled], unless it came to its own end at that moment. A run that waits
// for its next attempt has none. [ErrNoRun], [ErrOver], [ErrStillRuns].
func (r *Runner) Cancel(ctx context.Context, id string) (Run, error) {
	r.init()
	p, err := r.Store.parts(ctx)
	if err != nil {
		return Run{}, err
	}
	key, _, ok := splitRunID(id)
	if !ok {
		return Run{}, fmt.Errorf("%w: %.200s", ErrNoRun, id)
	}
	if run, err := p.run(ctx, id); err != nil {
		return Run{}, err
	} else if run.Status.Over() {
		return run, fmt.Errorf("%w: %s %s", ErrOver, id, run.Status)
	}
	if err := r.requestCancel(ctx, p, id, key); err != nil {
		return Run{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cancelWait, ErrStillRuns)
	defer cancel()
	for {
		run, err := p.run(ctx, id)
		if err != nil || run.Status.Over() {
			return run, err
		}
		if err := r.reapCancelled(ctx, p, id, key); err != nil {
			return run, err
		}
		pause.For(ctx, cancelPoll)
		if ctx.Err() != nil {
			return run, fmt.Errorf("%s: %w", id, context.Cause(ctx))
		}
	}
}

// requestCancel records the request to cancel in the schedule's page, which the process that makes
// the run watches. A run that waits for its next attempt has no such process, and is ended here. A
// run that is over is left alone.
func (r *Runner) requestCancel(ctx context.Context, p *parts, id, key string) error {
	for {
		pg, _, err := p.page(ctx, key)
		if errors.Is(err, engine.ErrNotFound) || err == nil && (pg.Current == nil || pg.Current.ID != id) {
			return nil
		}
		if err != nil {
			return err
		}
		c := &claim{runner: r, parts: p, run: *pg.Current, hold: pg.Hold}
		by := "cancelled by " + r.Owner
		if c.hold == nil && c.run.Status == Waiting {
			err = c.cancelWaiting(ctx, by)
		} else {
			err = c.changeRun(ctx, func(_ *Run, pg *page) { pg.Cancel = by })
		}
		if !errors.Is(err, errLost) { // else it has gone on since
			return err
		}
	}
}

// cancelWaiting ends a run that waits.
func (c *claim) cancelWaiting(ctx context.Context, why string) error {
	return c.changeRun(ctx, func(r *Run, pg *page) {
		r.Reason = why
		endRun(r, &pg.State, Cancelled, c.runner.clock.Now())
	})
}

// reapCancelled ends a run that was asked to end where its process has died.
func (r *Runner) reapCancelled(ctx context.Context, p *parts, id, key string) error {
	pg, _, err := p.page(ctx, key)
	if errors.Is(err, engine.ErrNotFound) || err == nil && (pg.Current == nil || pg.Current.ID != id || pg.Cancel == "") {
		return nil
	}
	if err != nil {
		return err
	}
	c := &claim{runner: r, parts: p, run: *pg.Current, hold: pg.Hold}
	_, err = c.reapIfDead(ctx, key)
	return err
}

// track makes a run known that this process is about to make, until done. Its context ends when
// somebody wants the run to end, for which the page must be watched: see heed.
func (r *Runner) track(ctx context.Context, run string) (_ context.Context, done func()) {
	r.init()
	ctx, cancel := context.WithCancelCause(ctx)
	u := &trackedRun{run, cancel}
	r.mu.Lock()
	r.tracked[u] = struct{}{}
	r.mu.Unlock()
	return ctx, func() {
		r.mu.Lock()
		delete(r.tracked, u)
		r.mu.Unlock()
		cancel(nil)
	}
}

// cancelIfRequested ends the run of a page that somebody wants to end, where this process makes it.
func (r *Runner) cancelIfRequested(pg *page) {
	if pg.Current == nil || pg.Cancel == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for u := range r.tracked {
		if u.run == pg.Current.ID {
			u.cancel(&cancelledError{pg.Cancel})
		}
	}
}

// watchForCancel heeds the page of one schedule until stop. A scheduler heeds them all.
func (r *Runner) watchForCancel(ctx context.Context, p *parts, key string) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			err := p.states.Watch(ctx, key, func(v *engine.Value) error {
				if v != nil && v.Key == key && !v.Deleted {
					pg := p.decodePage(*v)
					r.cancelIfRequested(&pg)
				}
				return nil
			})
			if err != nil && ctx.Err() == nil {
				r.Logger.Warn("a run cannot be told to end", "schedule", key, "err", err)
				pause.For(ctx, retryPause)
			}
		}
	}()
	return func() { cancel(); <-done }
}
