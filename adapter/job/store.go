package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/lease"
	"github.com/patchbay-dev/patchbay/internal/notify"
)

const (
	historyAge = 90 * 24 * time.Hour // how long the record of a run is stored
	beatEvery  = 10 * time.Second    // how often a run writes a heartbeat; docs/decisions/0011-one-run-for-one-tick.md says when it counts as dead
	ackWait    = 30 * time.Second    // how long a process may take to begin the run of an order

	maxOutputBytes = 1 << 30

	// OutputKept is how long the output of a run is stored.
	OutputKept = 30 * 24 * time.Hour
)

// ErrNoRun is returned for a run that does not exist.
var ErrNoRun = errors.New("no such run")

// A Queuer is an engine with queues. *engine.Engine is one.
type Queuer interface {
	engine.Store
	Queue(ctx context.Context, c engine.QueueConfig) (engine.Queue, error)
}

// A Store stores runs, their output, and the states of schedules.
type Store struct {
	Logger *slog.Logger // logs damaged records; nil discards. Set it before the store is used

	engine Queuer
	beat   time.Duration // beatEvery, or less in tests

	mu     sync.Mutex // protects opened
	opened *parts
}

// parts are the engine's buckets and streams that the store uses. The engine holds every key and
// topic in memory. Data that grows with the number of runs is therefore in streams, which have one
// topic for each agent or schedule.
type parts struct {
	states  engine.Bucket // the page of each schedule
	beats   engine.Bucket // the last heartbeat of each schedule's run
	history engine.Stream // runs that are over; one topic for each agent
	output  engine.Stream // the output of runs; one topic for each schedule
	queue   engine.Queue  // orders

	judge *lease.Judge // decides whether other processes are alive
	log   *slog.Logger // never nil
}

// NewStore makes a store. It does no I/O.
func NewStore(e Queuer) *Store { return &Store{engine: e, beat: beatEvery} }

func (s *Store) parts(ctx context.Context) (*parts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened != nil {
		return s.opened, nil
	}
	p := parts{judge: &lease.Judge{TTL: 3 * s.beat}, log: cmp.Or(s.Logger, slog.New(slog.DiscardHandler))}
	var err error
	if p.states, err = s.engine.Bucket(ctx, engine.BucketConfig{Name: "job_states"}); err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	// Without a TTL: the process that reads a heartbeat decides whether it is too old.
	if p.beats, err = s.engine.Bucket(ctx, engine.BucketConfig{Name: "job_beats"}); err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	if p.history, err = s.engine.Stream(ctx, engine.StreamConfig{Name: "job_history", MaxAge: historyAge}); err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	if p.output, err = s.engine.Stream(ctx, engine.StreamConfig{Name: "job_output", MaxAge: OutputKept, MaxBytes: maxOutputBytes}); err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	if p.queue, err = s.engine.Queue(ctx, engine.QueueConfig{Name: "jobs", AckWait: ackWait}); err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	s.opened = &p
	return s.opened, nil
}

// States returns the states of all schedules, by [stateKey].
func (s *Store) States(ctx context.Context) (map[string]State, error) {
	p, err := s.parts(ctx)
	if err != nil {
		return nil, err
	}
	pages, err := p.pages(ctx, "")
	if err != nil {
		return nil, err
	}
	states := make(map[string]State, len(pages))
	for _, pg := range pages {
		states[stateKey(pg.Agent, pg.Schedule)] = pg.State
	}
	return states, nil
}

// stateKey returns the key of a schedule's page: AGENT/SCHEDULE.
func stateKey(agent, schedule string) string { return agent + "/" + schedule }

// marksAge is longer than any rate limit that a manifest may have.
const marksAge = 400 * 24 * time.Hour

// Marks returns the store for the rate limits of notifiers. It outlasts restarts, and the machines
// share it.
func (s *Store) Marks() notify.Marks { return marks{s} }

// marks opens its bucket when a notifier with a rate limit is first used.
type marks struct{ store *Store }

func (m marks) Change(ctx context.Context, key string, f func([]byte) ([]byte, error)) error {
	b, err := m.store.engine.Bucket(ctx, engine.BucketConfig{Name: "job_marks", TTL: marksAge})
	if err != nil {
		return err
	}
	return notify.InBucket(b).Change(ctx, key, f)
}
