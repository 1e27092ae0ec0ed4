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
	// cancelWait limits how long [Runner.Cancel] waits for a run to end. The program of the run has
	// five seconds between SIGTERM and SIGKILL.
	cancelWait = 15 * time.Second
	cancelPoll = 20 * time.Millisecond // how often Cancel checks whether the run is over
)

var (
	// ErrOver is returned for a run that cannot be cancelled because it is over.
	ErrOver = errors.New("the run is over")
	// ErrStillRuns is returned for a run that was asked to end and has not ended yet.
	ErrStillRuns = errors.New("the run has not ended yet: its process does not answer, or its program does not stop")

	// errCancelled ends the context of a run that is cancelled.
	errCancelled = errors.New("cancelled")
)

// A cancelledError is an errCancelled that names the canceller.
type cancelledError struct{ by string }

func (e *cancelledError) Error() string { return e.by }
func (e *cancelledError) Unwrap() error { return errCancelled }

// Cancel ends a run, whichever process makes it on whichever machine. It waits until the run is
// over, and returns it. The status of the run is [Cancelled], unless the run ended by itself first.
// A run that waits for its next attempt gets no further attempt. Errors: [ErrNoRun], [ErrOver],
// [ErrStillRuns].
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

// requestCancel writes the request to cancel into the page of the schedule. The process that makes
// the run watches that page. A scheduled run that waits for its next attempt belongs to no process,
// so requestCancel ends it itself. A run that is over stays as it is.
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
		if !errors.Is(err, errLost) { // otherwise the run has changed meanwhile: read the page again
			return err
		}
	}
}

// cancelWaiting ends a run that waits for its next attempt.
func (c *claim) cancelWaiting(ctx context.Context, why string) error {
	return c.changeRun(ctx, func(r *Run, pg *page) {
		r.Reason = why
		endRun(r, &pg.State, Cancelled, c.runner.clock.Now())
	})
}

// reapCancelled ends a run whose cancellation was requested, if the process of the run has died.
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

// track registers a run that this process is about to make, until done is called. If the run is
// cancelled, [Runner.cancelIfRequested] ends the returned context. The process must watch the page
// for that.
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

// cancelIfRequested ends the run of a page if its cancellation was requested and this process makes
// the run.
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

// watchForCancel watches the page of one schedule for requests to cancel, until stop is called. A
// scheduler watches all pages instead.
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
				r.Logger.Warn("cannot watch for requests to cancel a run; trying again", "schedule", key, "err", err)
				pause.For(ctx, retryPause)
			}
		}
	}()
	return func() { cancel(); <-done }
}
