package job

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/pause"
)

const (
	maxRuns      = 32              // runs that one process makes at the same time
	sweepEvery   = 5 * time.Second // how often runs of dead processes are looked for
	maxSleep     = 24 * time.Hour  // how long the planner sleeps if nothing is due
	retryPause   = time.Second     // before the engine is tried again after an error
	reorderAfter = time.Hour       // an order that no process has carried out for this long was lost
)

// A Scheduler puts orders for due ticks and attempts into the queue, and makes the runs of the
// orders that it takes out. Any number of schedulers, in any number of processes, may share an
// engine: each tick and each attempt is one order, and one scheduler carries it out.
//
//	plan      orders due ticks and attempts, reports stale schedules    all processes compute the same
//	take      takes one order after another → claim → makeAttempt       one process has each order
//	sweep     ends runs whose process has died                          the first process that finds one records it
type Scheduler struct {
	Runner *Runner
	Agents func() []*Manifest // returns the current manifests

	mu     sync.Mutex // protects the fields below
	states map[string]State
	queued map[slot]queuedOrder // the last orders that this process put into the queue
	wake   chan struct{}        // buffer of one: wakes the planner after a change
}

// A slot identifies the last order of its kind. A schedule has at most one due run and one due
// attempt.
type slot struct {
	schedule string // the key of the schedule
	again    bool   // the order is for the next attempt of a run
}

// A queuedOrder is an order that was put into the queue.
type queuedOrder struct {
	id string
	at time.Time
}

// NewScheduler makes a scheduler. Start it with [Scheduler.Run].
func NewScheduler(r *Runner, agents func() []*Manifest) *Scheduler {
	return &Scheduler{Runner: r, Agents: agents, states: make(map[string]State), queued: make(map[slot]queuedOrder), wake: make(chan struct{}, 1)}
}

// Changed tells the scheduler that Agents returns other manifests now.
func (s *Scheduler) Changed() {
	select {
	case s.wake <- struct{}{}:
	default: // the planner will wake up already
	}
}

// Run works until ctx ends, and returns when none of its runs is in progress. When ctx ends, it
// stops the agents that are still running. An attempt that was stopped in this way does not count
// towards the maximum: the next scheduler makes another one immediately.
func (s *Scheduler) Run(ctx context.Context) error {
	s.Runner.init()
	p, err := s.Runner.Store.parts(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var work sync.WaitGroup
	known := make(chan struct{})
	var first sync.Once
	work.Go(func() { s.followStates(ctx, p, func() { first.Do(func() { close(known) }) }) })
	select {
	case <-known:
	case <-ctx.Done():
	}
	work.Go(func() { s.planner(ctx, p) })
	work.Go(func() { s.sweeper(ctx) })
	s.takeOrders(ctx, p)
	cancel()
	work.Wait()
	return nil
}

// followStates updates the states of all schedules whenever their pages change.
func (s *Scheduler) followStates(ctx context.Context, p *parts, known func()) {
	for ctx.Err() == nil {
		err := p.states.Watch(ctx, "", func(v *engine.Value) error {
			if v == nil {
				known()
				return nil
			}
			s.updateState(p, v)
			return nil
		})
		if err != nil && ctx.Err() == nil {
			s.Runner.Logger.Warn("cannot watch the states of jobs; trying again", "err", err)
			pause.For(ctx, retryPause)
		}
	}
}

func (s *Scheduler) updateState(p *parts, v *engine.Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v.Deleted {
		delete(s.states, v.Key)
	} else {
		pg := p.decodePage(*v)
		s.states[v.Key] = pg.State
		s.Runner.cancelIfRequested(&pg)
	}
	s.Changed()
}

func (s *Scheduler) state(agent, schedule string) (State, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, ok := s.states[stateKey(agent, schedule)]
	return st, ok
}

// planner puts orders into the queue when they are due.
func (s *Scheduler) planner(ctx context.Context, p *parts) {
	for ctx.Err() == nil {
		now := s.Runner.clock.Now()
		next := s.plan(ctx, p, now)
		wait, cancel := context.WithCancel(ctx)
		stop := make(chan struct{})
		go func() { // ends the sleep after a change
			defer close(stop)
			select {
			case <-s.wake:
				cancel()
			case <-wait.Done():
			}
		}()
		s.Runner.clock.Sleep(wait, now, next)
		cancel()
		<-stop
	}
}

// plan orders everything that is due now, and returns when to plan again. It skips agents with
// monitor = false.
func (s *Scheduler) plan(ctx context.Context, p *parts, now time.Time) time.Time {
	next := soonest{now, now.Add(maxSleep)}
	for _, m := range s.Agents() {
		for i := range m.Schedules {
			if !m.Agent.Monitor {
				continue
			}
			l := scheduleCheck{s, p, m, &m.Schedules[i], now}
			if err := l.plan(ctx, &next); err != nil && ctx.Err() == nil {
				s.Runner.Logger.Warn("cannot plan a job; trying again", "agent", m.Agent.Name, "schedule", m.Schedules[i].ID, "err", err)
				next.add(now.Add(sweepEvery))
			}
		}
	}
	return next.at
}

// A soonest finds the soonest of several times after now.
type soonest struct{ now, at time.Time }

func (n *soonest) add(t time.Time) {
	if t.After(n.now) && t.Before(n.at) {
		n.at = t
	}
}

// order puts an order into the queue, unless this process did so less than reorderAfter ago. The
// queue itself drops orders that another process has put there.
func (s *Scheduler) order(ctx context.Context, p *parts, o Order) error {
	id, at := o.id(), slot{stateKey(o.Agent, o.Schedule), o.Attempt > 1}
	s.mu.Lock()
	last := s.queued[at]
	s.mu.Unlock()
	if last.id == id && time.Since(last.at) < reorderAfter {
		return nil
	}
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if err := p.queue.Put(ctx, engine.Item{ID: id, Data: data}); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queued[at] = queuedOrder{id, time.Now()}
	return nil
}

// sweeper ends runs whose process has died.
func (s *Scheduler) sweeper(ctx context.Context) {
	for ctx.Err() == nil {
		s.sweep(ctx)
		pause.For(ctx, sweepEvery)
	}
}

func (s *Scheduler) sweep(ctx context.Context) {
	for _, m := range s.Agents() {
		for _, sc := range append([]Schedule{m.ManualSchedule()}, m.Schedules...) {
			st, ok := s.state(m.Agent.Name, sc.ID)
			if !ok || st.Active == "" {
				continue
			}
			if _, err := s.Runner.reap(ctx, m, &sc); err != nil && ctx.Err() == nil {
				s.Runner.Logger.Warn("cannot check whether the process of a run has died", "run", st.Active, "err", err)
			}
		}
	}
}

// takeOrders takes orders while fewer than maxRuns runs are in progress. It returns when ctx has
// ended and the last run has ended.
func (s *Scheduler) takeOrders(ctx context.Context, p *parts) {
	places := make(chan struct{}, maxRuns)
	var runs sync.WaitGroup
	defer runs.Wait()
	for {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		job, err := p.queue.Take(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			s.Runner.Logger.Warn("cannot take an order from the queue; trying again", "err", err)
			<-places
			pause.For(ctx, retryPause)
			continue
		}
		runs.Go(func() {
			defer func() { <-places }()
			s.carryOut(ctx, job)
		})
	}
}

// carryOut carries out one order. It acknowledges the order as soon as the run is in the page: from
// then on the page decides which process has the run.
func (s *Scheduler) carryOut(ctx context.Context, job *engine.Job) {
	o, err := decodeOrder(job.Data)
	if err != nil {
		s.Runner.Logger.Warn("dropping an order that cannot be read", "err", err)
		o = Order{}
	}
	ctx, done := s.Runner.track(ctx, o.Run) // first: a request to cancel may come immediately
	defer done()
	c, err := s.claim(context.WithoutCancel(ctx), o)
	if err != nil {
		s.Runner.Logger.Warn("cannot begin a run; putting its order back", "err", err)
		if err := job.Nak(context.WithoutCancel(ctx), retryPause); err != nil {
			s.Runner.Logger.Warn("cannot put an order back; the queue delivers it again later", "err", err)
		}
		return
	}
	if err := job.Ack(context.WithoutCancel(ctx)); err != nil {
		s.Runner.Logger.Warn("cannot acknowledge an order; if the queue delivers it again, it is dropped", "err", err)
	}
	if c == nil {
		return
	}
	if err := c.makeAttempt(ctx); err != nil {
		s.Runner.Logger.Warn("cannot record a run", "run", c.run.ID, "err", err)
	}
}

func (s *Scheduler) claim(ctx context.Context, o Order) (*claim, error) {
	if o.Run == "" {
		return nil, nil // not readable
	}
	for _, m := range s.Agents() {
		if sc := m.Schedule(o.Schedule); m.Agent.Name == o.Agent && sc != nil {
			return s.Runner.claim(ctx, o, m, sc)
		}
	}
	s.Runner.Logger.Warn("dropping an order for an agent or schedule that does not exist here", "agent", o.Agent, "schedule", o.Schedule)
	return nil, nil
}
