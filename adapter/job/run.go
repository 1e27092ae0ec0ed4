package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/lease"
	"github.com/patchbay-dev/patchbay/internal/pause"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// ErrBusy is returned for a run of a schedule whose previous run is not over.
var ErrBusy = errors.New("the previous run is still in progress")

// errLost ends an attempt whose run another process has taken over, because this process wrote no
// heartbeat for too long.
var errLost = errors.New("another process has taken the run over")

// A Runner makes runs. Set its exported fields before you use it. It is safe for concurrent use.
type Runner struct {
	Host    Host
	Store   *Store
	Procs   *proc.Group
	Environ []string                 // the environment that agents may inherit from the host
	Report  func(Report)             // called with each event, in order; may be nil. It must not block
	Watch   func(run string, l Line) // called with each line of output as it comes; may be nil
	Logger  *slog.Logger             // nil discards
	Clock   Clock                    // nil: the system's
	Owner   string                   // the name that its runs show as owner; "": that of this process
	Holder  lease.Holder             // identifies this process in the pages; zero: made from the mark of Procs

	// Confine returns a sandbox for an agent whose [security] restricts its files or its network.
	// If it is nil, such agents run without a sandbox. lent are the granted paths that may lie in
	// Patchbay's own directories.
	Confine func(ctx context.Context, grants []capability.Capability, lent []string) (proc.Box, error)

	// Check returns why no attempt of an agent can be made, for example because a plugin refuses
	// its config. Such an attempt counts as refused. Nil: every attempt is made.
	Check func(context.Context, *Manifest) error

	// Clean removes secrets from a text that is stored and reported; nil: it has none.
	Clean func(text string) string

	StateDir string // the directory of the heartbeat files; "": the temporary directory of the attempt

	clock Clock
	once  sync.Once

	mu      sync.Mutex // protects tracked
	tracked map[*trackedRun]struct{}
}

func (r *Runner) clean(text string) string {
	if r.Clean == nil {
		return text
	}
	return r.Clean(text)
}

// A trackedRun is a run that this process makes.
type trackedRun struct {
	run    string // its id
	cancel context.CancelCauseFunc
}

// A Report is an event for the people and plugins that a manifest names.
type Report struct {
	Notice
	Manifest *Manifest
	Run      *Run
	Output   string // the last lines that the agent printed
}

func (r *Runner) init() {
	r.once.Do(func() {
		if r.clock = r.Clock; r.clock == nil {
			r.clock = systemClock{}
		}
		r.Logger = cmp.Or(r.Logger, slog.New(slog.DiscardHandler))
		if !r.Holder.Known() && r.Procs != nil {
			r.Holder = lease.Self(r.Procs.Mark())
		} else if !r.Holder.Known() {
			r.Holder = lease.Self()
		}
		r.Owner = cmp.Or(r.Owner, r.Holder.Name)
		r.tracked = make(map[*trackedRun]struct{})
	})
}

// A claim is an attempt that this process has claimed: no other process makes it.
type claim struct {
	runner   *Runner
	parts    *parts
	manifest *Manifest
	schedule *Schedule
	run      Run
	hold     *hold // as it is in the page
	insist   bool  // see [RunOptions.Insist]
}

// errNotOurs is returned for an order that this process must not carry out, because another process
// carries it out or has done so.
var errNotOurs = errors.New("not ours to do")

// claimTries limits how often a claim is tried again after it has ended the run of a dead process.
// Before each try, another process may begin the next run.
const claimTries = 3

// claim claims the attempt that an order asks for. It returns nil without an error if there is
// nothing to do. If the previous run is not over, claim returns [ErrBusy] for a manual run and
// records a tick as skipped. If the process of that run has died, claim ends the run and goes on.
func (r *Runner) claim(ctx context.Context, o Order, m *Manifest, s *Schedule) (*claim, error) {
	r.init()
	p, err := r.Store.parts(ctx)
	if err != nil {
		return nil, err
	}
	for tries := 0; ; {
		c := &claim{runner: r, parts: p, manifest: m, schedule: s}
		// Do not stop halfway: half a claim would count as a failed attempt.
		err := c.writeClaim(context.WithoutCancel(ctx), o)
		if errors.Is(err, errNotOurs) {
			return nil, nil
		}
		if !errors.Is(err, ErrBusy) {
			return c.orNil(err)
		}
		verdict, reapErr := r.reap(ctx, m, s)
		if verdict == lease.Free && reapErr == nil && tries < claimTries {
			tries++
			continue
		}
		if verdict == lease.Unsure && o.Manual && pause.For(ctx, p.judge.Pause()) == nil { // a person waits for the answer; a tick does not
			continue
		}
		if left, ok := errors.AsType[*lease.LeftoverError](reapErr); ok {
			err, reapErr = fmt.Errorf("%w: %w", ErrBusy, left), nil
		}
		if reapErr != nil { // whether the run is alive is not known: the queue delivers the order again
			return nil, reapErr
		}
		return nil, c.refuse(ctx, err)
	}
}

func (c *claim) orNil(err error) (*claim, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// writeClaim writes the attempt into the page.
func (c *claim) writeClaim(ctx context.Context, o Order) error {
	h := c.runner.newHold(c.manifest)
	c.hold = &h
	if o.Attempt == 1 {
		return c.beginRun(ctx, o)
	}
	return c.continueRun(ctx, o)
}

// refuse handles an order that comes while the previous run is still in progress. For a manual run
// it returns why. A tick is recorded as skipped.
func (c *claim) refuse(ctx context.Context, why error) error {
	if c.run.Manual {
		return why
	}
	err := c.skip(context.WithoutCancel(ctx), why.Error())
	if errors.Is(err, errNotOurs) {
		return nil
	}
	return err
}

// errLate is returned for a tick if a later tick was handled first.
var errLate = errors.New("a later tick was handled first")

// beginRun makes a new run the current one of its schedule. If several processes try, the first to
// write the page has the run. Ticks are handled in order: if a later one was handled already, this
// one is recorded as skipped, unless the history has it.
func (c *claim) beginRun(ctx context.Context, o Order) error {
	now := c.runner.clock.Now()
	c.run = Run{ID: o.Run, Agent: o.Agent, Schedule: o.Schedule, Tick: o.Tick, Manual: o.Manual, Status: Running, Began: now,
		Most: c.schedule.Retry.Attempts, Owner: c.runner.Owner, Attempts: []Attempt{{Number: 1, Began: now}}}
	before := false
	err := c.update(ctx, func(pg *page) (err error) {
		switch {
		case pg.Active == o.Run, pg.LastRun == o.Run, !o.Manual && o.Tick.Equal(pg.LastTick):
			return errNotOurs
		case !o.Manual && o.Tick.Before(pg.LastTick):
			return errLate
		case pg.Current != nil:
			return fmt.Errorf("%w: %s", ErrBusy, pg.Active)
		case !o.Manual && !o.Tick.After(pg.Ahead):
			if before, err = c.parts.ranBefore(ctx, o); err != nil || before {
				pg.LastTick = o.Tick
				return err
			}
		}
		return c.enterRun(ctx, pg)
	})
	if err == nil && before {
		return errNotOurs
	}
	if errors.Is(err, errLate) {
		if r, err := c.parts.findEnded(ctx, &c.run, o.Tick); r != nil || err != nil {
			return cmp.Or(err, errNotOurs)
		}
		return c.skip(ctx, errLate.Error())
	}
	return err
}

// ranBefore reports whether a tick has a record from before the clock was set back.
func (p *parts) ranBefore(ctx context.Context, o Order) (bool, error) {
	_, err := p.run(ctx, o.Run)
	if errors.Is(err, ErrNoRun) {
		return false, nil
	}
	return err == nil, err
}

// enterRun enters the new run into the page of its schedule.
func (c *claim) enterRun(ctx context.Context, pg *page) (err error) {
	if err := c.beat(ctx); err != nil { // first: a run without a heartbeat counts as dead
		return err
	}
	if c.run.LogAfter, err = c.parts.output.Last(ctx, outputTopic(&c.run)); err != nil {
		return err
	}
	if !c.run.Manual {
		pg.LastTick = c.run.Tick
	}
	pg.Current, pg.Active, pg.Attempt, pg.NextAt = &c.run, c.run.ID, 1, time.Time{}
	pg.Hold, pg.Cancel = c.hold, ""
	return nil
}

// skip records that a tick is not run. It writes the history first: if this process dies before it
// updates the page, the tick is recorded a second time, which does no harm.
func (c *claim) skip(ctx context.Context, reason string) error {
	c.run.Status, c.run.Ended, c.run.Attempts, c.run.Reason = Skipped, c.run.Began, []Attempt{}, reason
	if err := c.parts.appendHistory(ctx, &c.run); err != nil {
		return err
	}
	err := c.update(ctx, func(pg *page) error {
		if !c.run.Tick.After(pg.LastTick) {
			return errNotOurs
		}
		pg.LastTick = c.run.Tick
		return nil
	})
	return cmp.Or(err, errNotOurs)
}

// continueRun begins the next attempt of a run that waits.
func (c *claim) continueRun(ctx context.Context, o Order) error {
	c.run.Agent, c.run.Schedule = o.Agent, o.Schedule
	return c.update(ctx, func(pg *page) error {
		if pg.Active != o.Run || pg.Current.Status != Waiting || len(pg.Current.Attempts) != o.Attempt-1 {
			return errNotOurs // it was made already
		}
		if err := c.beat(ctx); err != nil {
			return err
		}
		c.run = *pg.Current
		c.run.Status, c.run.NextAt, c.run.Owner = Running, time.Time{}, c.runner.Owner
		c.run.Attempts = append(c.run.Attempts, Attempt{Number: o.Attempt, Began: c.runner.clock.Now()})
		pg.Current, pg.Attempt, pg.NextAt, pg.Hold = &c.run, o.Attempt, time.Time{}, c.hold
		return nil
	})
}

// makeAttempt makes the claimed attempt and records its result.
func (c *claim) makeAttempt(ctx context.Context) error {
	life := ctx // outlives the attempt, whose context keepAlive may end
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer c.keepAlive(ctx, cancel)()
	kept := c.runner.Store.writeOutput(c.parts, &c.run, c.runner)
	a := attempt{runner: c.runner, manifest: c.manifest, schedule: c.schedule, run: &c.run, number: len(c.run.Attempts),
		tmp: c.hold.Tmp, out: &output{store: kept.line}}
	result := a.make(ctx)
	kept.close()
	if errors.Is(context.Cause(ctx), errLost) {
		return errLost // the process that took it over has recorded the result
	}
	if result.Result == CutOff {
		result.Result = c.interruptedResult(ctx)
	}
	return c.saveResult(life, result, a.out.tail())
}

// interruptedResult returns the result of an attempt whose context has ended. A manual run counts
// as cancelled: a person ended the command or the daemon that made it. A scheduled run was stopped
// because its daemon was told to end; the next daemon continues it.
func (c *claim) interruptedResult(ctx context.Context) Result {
	if c.run.Manual || errors.Is(context.Cause(ctx), errCancelled) {
		return WasCancelled
	}
	return Stopped
}

// trySaveResult records the result of an attempt and reports its events. The schedule does not
// order the next attempt of a manual run: the command that made the run waits for it. A run whose
// cancellation was requested gets no next attempt.
func (c *claim) trySaveResult(ctx context.Context, a Attempt, text string) error {
	var notices []Notice
	err := c.changeRun(ctx, func(r *Run, pg *page) {
		if pg.Cancel != "" && a.Result != OK {
			a.Result, a.Error = WasCancelled, pg.Cancel
		}
		notices = applyResult(r, &pg.State, a, c.schedule.Retry.Backoff)
		if r.Manual {
			pg.NextAt = time.Time{}
		}
	})
	if err == nil {
		c.report(notices, text)
	}
	return err
}

// changeRun changes the active run in the page. It returns errLost if the run in the page is not
// the one that this process knows, because then another process has taken it over.
//
// A run that is over is written into the history first and then removed from the page. If this
// process dies in between, [Runner.reap] finishes the page.
func (c *claim) changeRun(ctx context.Context, f func(*Run, *page)) error {
	before, filed := c.run, false
	return c.update(ctx, func(pg *page) error {
		if !before.sameProgress(pg.Current) || pg.Hold.token() != c.hold.token() {
			return errLost
		}
		c.run = before
		c.run.Attempts = slices.Clone(before.Attempts)
		f(&c.run, pg)
		pg.Current = &c.run
		if !c.run.Status.Over() {
			if c.run.Status == Waiting && !c.run.Manual { // any process may make the next attempt
				pg.Hold = nil
			}
			return nil
		}
		pg.Current, pg.Previous = nil, &c.run
		pg.clear()
		if filed {
			return nil
		}
		filed = true
		return c.parts.appendHistory(ctx, &c.run)
	})
}

// sameProgress reports whether the stored run has the same id, status and number of attempts as r.
func (r *Run) sameProgress(stored *Run) bool {
	return stored != nil && stored.ID == r.ID && stored.Status == r.Status && len(stored.Attempts) == len(r.Attempts)
}

func (c *claim) report(notices []Notice, text string) {
	for _, n := range markMerged(notices) {
		c.runner.logNotice(&c.run, &n)
		if c.runner.Report != nil {
			run := c.run
			c.runner.Report(Report{Notice: n, Manifest: c.manifest, Run: &run, Output: text})
		}
	}
}

// update changes the page of the claim's schedule.
func (c *claim) update(ctx context.Context, change func(*page) error) error {
	return c.parts.update(ctx, c.run.Agent, c.run.Schedule, c.runner.clock.Now(), change)
}

// beat writes a heartbeat. The heartbeat belongs to the schedule, which has one run at a time. If
// two processes race to begin a run, the loser's heartbeat keeps the winner's run from counting as
// dead.
func (c *claim) beat(ctx context.Context) error { return c.beatSchedule(ctx, c.key()) }

func (c *claim) beatSchedule(ctx context.Context, key string) error {
	_, err := c.parts.beats.Put(ctx, key, []byte(c.runner.Owner))
	return err
}

// key returns the key of the claim's schedule.
func (c *claim) key() string { return stateKey(c.run.Agent, c.run.Schedule) }

// keepAlive writes a heartbeat every few seconds until stop is called. If it cannot do so for too
// long, it cancels the attempt with errLost, so that the program stops before another process
// starts it again. A full disk does not end the run: no other process can write there either.
func (c *claim) keepAlive(ctx context.Context, cancel context.CancelCauseFunc) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	every, key := c.runner.Store.beat, c.key() // read now: c.run changes meanwhile
	go func() {
		defer close(ended)
		last := time.Now()
		for {
			select {
			case <-done:
				return
			case <-time.After(every):
			}
			if time.Since(last) > 3*every-every/2 {
				cancel(errLost)
				return
			}
			try, cancelTry := context.WithTimeout(ctx, every/2)
			err := c.beatSchedule(try, key)
			cancelTry()
			if err == nil || c.safeWithoutBeat(ctx, key, err, every/2) {
				last = time.Now()
			}
		}
	}()
	return func() { close(done); <-ended }
}
