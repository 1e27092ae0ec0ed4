package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// ErrBusy is returned for a run of a schedule whose last run is not over.
var ErrBusy = errors.New("the last run is not over")

// errLost ends an attempt whose run was given to somebody else, because nothing was heard of this process for too long.
var errLost = errors.New("the run was taken for dead")

// A Runner makes runs. Its exported fields are set before it is used; it is safe for concurrent use.
type Runner struct {
	Host    Host
	Store   *Store
	Procs   *proc.Group
	Environ []string                 // what agents may see of the host's environment
	Tell    func(Telling)            // told what happens, in order; nil: nobody. It must not block
	Watch   func(run string, l Line) // told each line of output as it comes; nil: nobody
	Logger  *slog.Logger             // nil discards
	Clock   Clock                    // nil: the system's
	Owner   string                   // who others are told runs it; "": this process

	StateDir string // where agents have their heartbeat files; "": in their temporary directory

	clock Clock
	once  sync.Once
}

// A Telling is a notice for the people and plugins that a manifest names.
type Telling struct {
	Notice
	Manifest *Manifest
	Run      *Run
	Output   string // the end of what the agent printed
}

func (r *Runner) init() {
	r.once.Do(func() {
		if r.clock = r.Clock; r.clock == nil {
			r.clock = systemClock{}
		}
		if r.Logger == nil {
			r.Logger = slog.New(slog.DiscardHandler)
		}
		if r.Owner == "" {
			host, err := os.Hostname()
			if err != nil {
				host = "this machine" // the process alone must do
			}
			r.Owner = fmt.Sprintf("process %d on %s", os.Getpid(), host)
		}
	})
}

// A claim is an attempt that is this process's to make.
type claim struct {
	runner   *Runner
	parts    *parts
	manifest *Manifest
	schedule *Schedule
	run      Run
	revision uint64 // of the run's record
}

// claim makes an order this process's own. It is nil without an error where there is nothing to do: somebody else has it,
// or the run before it is not over.
func (r *Runner) claim(ctx context.Context, o Order, m *Manifest, s *Schedule) (*claim, error) {
	r.init()
	p, err := r.Store.parts(ctx)
	if err != nil {
		return nil, err
	}
	c := &claim{runner: r, parts: p, manifest: m, schedule: s}
	if o.Attempt == 1 {
		err = c.begin(ctx, o)
	} else {
		err = c.goOn(ctx, o)
	}
	if errors.Is(err, engine.ErrExists) || errors.Is(err, engine.ErrConflict) || errors.Is(err, ErrNoRun) {
		return nil, nil // somebody else was quicker
	}
	if err != nil || c.revision == 0 {
		return nil, err
	}
	return c, nil
}

// begin records a new run. Who creates the record has it.
func (c *claim) begin(ctx context.Context, o Order) error {
	now := c.runner.clock.Now()
	c.run = Run{ID: o.Run, Agent: o.Agent, Schedule: o.Schedule, Tick: o.Tick, Manual: o.Manual, Status: Running, Began: now,
		Most: c.schedule.Retry.MaxRetries, Owner: c.runner.Owner, Attempts: []Attempt{{Number: 1, Began: now}}}
	if err := c.beat(ctx); err != nil { // before the record: a run without a sign of life is taken for dead
		return err
	}
	revision, err := put(ctx, c.parts.runs, o.Run, &c.run, 0)
	if errors.Is(err, engine.ErrExists) {
		return cmp.Or(c.remember(ctx, o), err)
	}
	if err != nil {
		return err
	}
	busy := ""
	err = c.updateState(ctx, func(s *State) {
		if busy = s.Active; busy == o.Run {
			busy = "" // the answer of an earlier try was lost
		}
		if o.Tick.After(s.LastTick) && !o.Manual {
			s.LastTick = o.Tick
		}
		if busy == "" {
			s.Active, s.Attempt, s.NextAt = o.Run, 1, time.Time{}
		}
	})
	if err != nil {
		return err
	}
	if busy != "" {
		c.run.Status, c.run.Ended, c.run.Attempts = Skipped, now, []Attempt{}
		c.run.Reason = fmt.Sprintf("%s: %s", ErrBusy, busy)
		_, err := put(ctx, c.parts.runs, o.Run, &c.run, revision)
		return err
	}
	c.revision = revision
	return nil
}

// remember sees to it that a run which somebody else has begun is known as the schedule's active one: its process may have
// died between the two. The sweep does the rest.
func (c *claim) remember(ctx context.Context, o Order) error {
	run, _, err := get[Run](ctx, c.parts.runs, o.Run)
	if err != nil || run.Status.Over() {
		return err
	}
	return c.updateState(ctx, func(s *State) {
		if s.Active == "" && s.LastRun != o.Run {
			s.Active, s.Attempt, s.NextAt = o.Run, len(run.Attempts), run.NextAt
		}
		if o.Tick.After(s.LastTick) && !o.Manual {
			s.LastTick = o.Tick
		}
	})
}

// goOn records the next attempt of a run that waits.
func (c *claim) goOn(ctx context.Context, o Order) error {
	run, revision, err := get[Run](ctx, c.parts.runs, o.Run)
	if errors.Is(err, engine.ErrNotFound) {
		return ErrNoRun
	}
	if err != nil {
		return err
	}
	if run.Status != Waiting || len(run.Attempts) != o.Attempt-1 {
		return nil // it was made already
	}
	if err := c.beatOf(ctx, o.Run); err != nil {
		return err
	}
	run.Status, run.NextAt, run.Owner = Running, time.Time{}, c.runner.Owner
	run.Attempts = append(run.Attempts, Attempt{Number: o.Attempt, Began: c.runner.clock.Now()})
	if c.revision, err = put(ctx, c.parts.runs, o.Run, &run, revision); err != nil {
		return err
	}
	c.run = run
	return c.updateState(ctx, func(s *State) { s.Active, s.Attempt, s.NextAt = o.Run, o.Attempt, time.Time{} })
}

// make makes the attempt that was claimed and records what came of it.
func (c *claim) make(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer c.keepAlive(ctx, cancel)()
	kept := c.runner.Store.keep(c.parts, c.run.ID, len(c.run.Attempts), c.runner)
	a := attempt{runner: c.runner, manifest: c.manifest, schedule: c.schedule, run: &c.run, number: len(c.run.Attempts),
		out: &output{keep: kept.line}}
	result := a.do(ctx)
	kept.close()
	if errors.Is(context.Cause(ctx), errLost) {
		return errLost // whoever took it has recorded that
	}
	return c.settle(context.WithoutCancel(ctx), result, a.out.tail())
}

// settle records an attempt's result: in the run, which decides whose word counts, then in the schedule's state. A process that
// dies in between leaves a state that [Runner.mend] brings up to date.
func (c *claim) settle(ctx context.Context, a Attempt, text string) error {
	s, _, err := get[State](ctx, c.parts.states, stateKey(c.run.Agent, c.run.Schedule))
	if err != nil {
		return err
	}
	before := c.run
	notices := c.apply(&c.run, &s, a)
	if c.revision, err = put(ctx, c.parts.runs, c.run.ID, &c.run, c.revision); err != nil {
		return err
	}
	err = c.updateState(ctx, func(s *State) {
		again := before
		c.apply(&again, s, a)
	})
	if err != nil {
		return err
	}
	c.tell(notices, text)
	if c.run.Status.Over() {
		return c.parts.beats.Delete(ctx, c.run.ID)
	}
	return nil
}

// apply settles an attempt in copies of a run and a state. Who waits for the next attempt of a run that a person asked for is
// the person's own command, not the schedule.
func (c *claim) apply(r *Run, s *State, a Attempt) []Notice {
	r.Attempts = append([]Attempt(nil), r.Attempts...)
	notices := settle(r, s, a, c.schedule.Retry.Backoff)
	if r.Manual {
		s.NextAt = time.Time{}
	}
	return notices
}

func (c *claim) tell(notices []Notice, text string) {
	for _, n := range notices {
		c.runner.Logger.Info("job", "agent", c.run.Agent, "schedule", c.run.Schedule, "event", n.Event, "attempt", n.Attempt, "err", n.Error)
		if c.runner.Tell != nil {
			run := c.run
			c.runner.Tell(Telling{Notice: n, Manifest: c.manifest, Run: &run, Output: text})
		}
	}
}

// updateState changes the schedule's state, whoever else does at the same time.
func (c *claim) updateState(ctx context.Context, change func(*State)) error {
	return updateState(ctx, c.parts.states, c.manifest.Agent.Name, c.schedule.ID, c.runner.clock.Now(), change)
}

func updateState(ctx context.Context, b engine.Bucket, agent, schedule string, now time.Time, change func(*State)) error {
	key := stateKey(agent, schedule)
	for {
		s, revision, err := get[State](ctx, b, key)
		if errors.Is(err, engine.ErrNotFound) {
			s, err = State{Agent: agent, Schedule: schedule, Since: now}, nil
		}
		if err != nil {
			return err
		}
		change(&s)
		_, err = put(ctx, b, key, &s, revision)
		if !errors.Is(err, engine.ErrConflict) && !errors.Is(err, engine.ErrExists) {
			return err
		}
	}
}

func (c *claim) beat(ctx context.Context) error { return c.beatOf(ctx, c.run.ID) }

func (c *claim) beatOf(ctx context.Context, run string) error {
	_, err := c.parts.beats.Put(ctx, run, []byte(c.runner.Owner))
	return err
}

// keepAlive says every few seconds that the run is alive. Where that cannot be said for too long the run is lost, and the
// agent is stopped before somebody else starts another.
func (c *claim) keepAlive(ctx context.Context, cancel context.CancelCauseFunc) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	every := c.runner.Store.beat
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
			if c.beat(try) == nil {
				last = time.Now()
			}
			cancelTry()
		}
	}()
	return func() { close(done); <-ended }
}
