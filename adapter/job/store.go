package job

import (
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
	historyAge = 90 * 24 * time.Hour // how long the record of a run is kept
	beatEvery  = 10 * time.Second    // how often a run says that it is alive; elsewhere, after three times that of silence it is taken for dead
	ackWait    = 30 * time.Second    // for who took a tick to begin its run

	maxOutputBytes = 1 << 30

	// OutputKept is how long what a run printed is kept.
	OutputKept = 30 * 24 * time.Hour
)

// ErrNoRun is returned for a run that is not there.
var ErrNoRun = errors.New("no such run")

// A Queuer is an engine with queues; *engine.Engine is one.
type Queuer interface {
	engine.Store
	Queue(ctx context.Context, c engine.QueueConfig) (engine.Queue, error)
}

// A Store keeps runs, their output, and the states of schedules.
type Store struct {
	Logger *slog.Logger // told of what is damaged; nil discards. Set it before the store is used

	engine Queuer
	beat   time.Duration // beatEvery, except where a test has no time

	mu     sync.Mutex // protects opened
	opened *parts
}

// parts are what the store consists of. The engine has everything about a name in memory: what
// grows with the number of runs is in streams, whose topics are as few as agents or schedules.
type parts struct {
	states  engine.Bucket // a page a schedule
	beats   engine.Bucket // the last sign of life of a schedule's run
	history engine.Stream // runs that are over, by agent
	output  engine.Stream // what runs have printed, by schedule
	queue   engine.Queue  // orders

	judge *lease.Judge // of runs that others have
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
	p := parts{judge: &lease.Judge{TTL: 3 * s.beat}, log: s.Logger}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if p.states, err = s.engine.Bucket(ctx, engine.BucketConfig{Name: "job_states"}); err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	// Without a TTL: how old a sign is is for whoever looks to say.
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

// States are the states of all schedules, by agent and schedule.
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

// stateKey is where the state of a schedule is kept.
func stateKey(agent, schedule string) string { return agent + "/" + schedule }

// marksAge is longer than any rate limit that a manifest may have.
const marksAge = 400 * 24 * time.Hour

// Marks remember what notifiers have told, across restarts and machines.
func (s *Store) Marks() notify.Marks { return marks{s} }

// marks open their bucket when the first notifier with a rate limit is used.
type marks struct{ store *Store }

func (m marks) Change(ctx context.Context, key string, f func([]byte) ([]byte, error)) error {
	b, err := m.store.engine.Bucket(ctx, engine.BucketConfig{Name: "job_marks", TTL: marksAge})
	if err != nil {
		return err
	}
	return notify.InBucket(b).Change(ctx, key, f)
}
