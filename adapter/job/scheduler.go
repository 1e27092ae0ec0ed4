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
	maxRuns      = 32              // runs that one process makes side by side
	sweepEvery   = 5 * time.Second // how often the dead are looked for
	maxSleep     = 24 * time.Hour  // how long the planner sleeps where nothing is due
	retryPause   = time.Second     // after a queue that did not answer
	reorderAfter = time.Hour       // an order that nobody has carried out for so long was lost
)

// A Scheduler puts what is due into the queue, and makes the runs that it takes out of it. Any
// number of them, in any number of processes, may share an engine: each tick and each attempt is
// one order, and one of them has it.
//
//	plan      ticks, next attempts, and what has gone stale      every process comes to the same answer
//	take      one order after another → claim → make             one process has it
//	sweep     runs whose process has died                        the first who finds one records that
type Scheduler struct {
	Runner *Runner
	Agents func() []*Manifest // as they are now

	mu     sync.Mutex // protects the fields below
	states map[string]State
	queued map[slot]queuedOrder // the last orders that this process has put into the queue
	wake   chan struct{}        // has room for one: something has changed
}

// A slot is for the last order of its kind: a schedule has one run that is due, and one attempt.
type slot struct {
	schedule string // its key
	again    bool   // it is for the next attempt of a run
}

// queuedOrder is an order in the queue.
type queuedOrder struct {
	id string
	at time.Time
}

// NewScheduler makes a scheduler, which [Scheduler.Run] sets to work.
func NewScheduler(r *Runner, agents func() []*Manifest) *Scheduler {
	return &Scheduler{Runner: r, Agents: agents, states: make(map[string]State), queued: make(map[slot]queuedOrder), wake: make(chan struct{}, 1)}
}

// Changed says that the agents are others now.
func (s *Scheduler) Changed() {
	select {
	case s.wake <- struct{}{}:
	default: // it is known already
	}
}

// Run works until ctx ends, and returns when no run of its own is under way. Agents that are
// running then are stopped. That does not count as one of their attempts: the next scheduler makes
// another one at once.
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

// followStates keeps the states of all schedules at hand.
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
			s.Runner.Logger.Warn("the states of jobs are not followed", "err", err)
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
		go func() { // a change ends the sleep
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

// plan does what is due now, and says when to look again. An agent that is not monitored runs when
// a person asks.
func (s *Scheduler) plan(ctx context.Context, p *parts, now time.Time) time.Time {
	next := soonest{now, now.Add(maxSleep)}
	for _, m := range s.Agents() {
		for i := range m.Schedules {
			if !m.Agent.Monitor {
				continue
			}
			l := scheduleCheck{s, p, m, &m.Schedules[i], now}
			if err := l.plan(ctx, &next); err != nil && ctx.Err() == nil {
				s.Runner.Logger.Warn("a job is not planned", "agent", m.Agent.Name, "schedule", m.Schedules[i].ID, "err", err)
				next.add(now.Add(sweepEvery))
			}
		}
	}
	return next.at
}

// soonest is the soonest time to come.
type soonest struct{ now, at time.Time }

func (n *soonest) add(t time.Time) {
	if t.After(n.now) && t.Before(n.at) {
		n.at = t
	}
}

// order puts an order into the queue, once as far as this process knows. The queue knows better.
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

// sweeper looks for runs whose process has died.
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
				s.Runner.Logger.Warn("a run that may have died is not looked after", "run", st.Active, "err", err)
			}
		}
	}
}

// takeOrders takes orders, as long as there is a place for another run, until ctx ends and the last
// run has.
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
			s.Runner.Logger.Warn("no job can be taken", "err", err)
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

// carryOut does one order. It is done for the queue as soon as its record is written: from then on
// the record says whose it is.
func (s *Scheduler) carryOut(ctx context.Context, job *engine.Job) {
	o, err := decodeOrder(job.Data)
	if err != nil {
		s.Runner.Logger.Warn("an order is not readable", "err", err)
		o = Order{}
	}
	ctx, done := s.Runner.track(ctx, o.Run) // first: whoever wants it to end may be quick
	defer done()
	c, err := s.claim(context.WithoutCancel(ctx), o)
	if err != nil {
		s.Runner.Logger.Warn("a job is put back", "err", err)
		if err := job.Nak(context.WithoutCancel(ctx), retryPause); err != nil {
			s.Runner.Logger.Warn("a job could not be put back; it comes back by itself", "err", err)
		}
		return
	}
	if err := job.Ack(context.WithoutCancel(ctx)); err != nil {
		s.Runner.Logger.Warn("a job that was begun may come again, and will be refused", "err", err)
	}
	if c == nil {
		return
	}
	if err := c.makeAttempt(ctx); err != nil {
		s.Runner.Logger.Warn("a run is not recorded", "run", c.run.ID, "err", err)
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
	s.Runner.Logger.Warn("an order for an agent that is gone", "agent", o.Agent, "schedule", o.Schedule)
	return nil, nil
}
