package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/notify"
)

const (
	runsKept  = 90 * 24 * time.Hour // how long the record of a run is kept
	beatEvery = 10 * time.Second    // how often a run says that it is alive; after three times that of silence it is taken for dead
	tickDedup = 5 * time.Minute     // how long the queue remembers an order; after that the record of its run does
	ackWait   = 30 * time.Second    // for who took a tick to begin its run

	outputAge   = 30 * 24 * time.Hour
	outputBytes = 1 << 30
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
	engine Queuer
	beat   time.Duration // beatEvery, except where a test has no time

	mu     sync.Mutex // protects opened
	opened *parts
}

type parts struct {
	runs   engine.Bucket
	states engine.Bucket
	beats  engine.Bucket
	output engine.Stream
	queue  engine.Queue
}

// NewStore makes a store. It does no I/O.
func NewStore(e Queuer) *Store { return &Store{engine: e, beat: beatEvery} }

func (s *Store) parts(ctx context.Context) (*parts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened != nil {
		return s.opened, nil
	}
	var p parts
	var err error
	for _, b := range []struct {
		to  *engine.Bucket
		cfg engine.BucketConfig
	}{
		{&p.runs, engine.BucketConfig{Name: "job_runs", TTL: runsKept}},
		{&p.states, engine.BucketConfig{Name: "job_states"}},
		{&p.beats, engine.BucketConfig{Name: "job_beats", TTL: 3 * s.beat}},
	} {
		if *b.to, err = s.engine.Bucket(ctx, b.cfg); err != nil {
			return nil, fmt.Errorf("jobs: %w", err)
		}
	}
	if p.output, err = s.engine.Stream(ctx, engine.StreamConfig{Name: "job_output", MaxAge: outputAge, MaxBytes: outputBytes}); err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	if p.queue, err = s.engine.Queue(ctx, engine.QueueConfig{Name: "jobs", AckWait: ackWait, Dedup: tickDedup}); err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	s.opened = &p
	return s.opened, nil
}

// get decodes the value of a key.
func get[T any](ctx context.Context, b engine.Bucket, key string) (v T, revision uint64, err error) {
	entry, err := b.Get(ctx, key)
	if err != nil {
		return v, 0, err
	}
	if err := json.Unmarshal(entry.Data, &v); err != nil {
		return v, 0, fmt.Errorf("%s: %w", key, err)
	}
	return v, entry.Revision, nil
}

// put writes a value: anew where revision is 0, else in the place of that revision.
func put(ctx context.Context, b engine.Bucket, key string, v any, revision uint64) (uint64, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return 0, err
	}
	if revision == 0 {
		return b.Create(ctx, key, data)
	}
	return b.Update(ctx, key, data, revision)
}

// Run is one run.
func (s *Store) Run(ctx context.Context, id string) (Run, error) {
	p, err := s.parts(ctx)
	if err != nil {
		return Run{}, err
	}
	r, _, err := get[Run](ctx, p.runs, id)
	if errors.Is(err, engine.ErrNotFound) {
		return Run{}, fmt.Errorf("%w: %.200s", ErrNoRun, id)
	}
	return r, err
}

// Runs are the runs of an agent, or of all where agent is "", the newest first, at most limit (0: all).
func (s *Store) Runs(ctx context.Context, agent string, limit int) ([]Run, error) {
	p, err := s.parts(ctx)
	if err != nil {
		return nil, err
	}
	prefix := ""
	if agent != "" {
		prefix = agent + "/"
	}
	values, err := p.runs.Values(ctx, prefix)
	if err != nil {
		return nil, err
	}
	runs := make([]Run, 0, len(values))
	for _, v := range values {
		var r Run
		if err := json.Unmarshal(v.Data, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", v.Key, err)
		}
		runs = append(runs, r)
	}
	slices.SortStableFunc(runs, func(a, b Run) int { return b.Began.Compare(a.Began) })
	if limit > 0 && len(runs) > limit {
		runs = runs[:limit]
	}
	return runs, nil
}

// States are the states of all schedules, by agent and schedule.
func (s *Store) States(ctx context.Context) (map[string]State, error) {
	p, err := s.parts(ctx)
	if err != nil {
		return nil, err
	}
	values, err := p.states.Values(ctx, "")
	if err != nil {
		return nil, err
	}
	states := make(map[string]State, len(values))
	for _, v := range values {
		var st State
		if err := json.Unmarshal(v.Data, &st); err != nil {
			return nil, fmt.Errorf("%s: %w", v.Key, err)
		}
		states[v.Key] = st
	}
	return states, nil
}

// stateKey is where the state of a schedule is kept.
func stateKey(agent, schedule string) string { return agent + "/" + schedule }

// runID is the key of a run. Times sort as text.
func runID(agent, schedule string, at time.Time, manual bool) string {
	id := stateKey(agent, schedule) + "/" + at.UTC().Format("20060102T150405.000Z")
	if manual {
		id += "-manual"
	}
	return id
}

func decodeState(data []byte) (s State, err error) {
	err = json.Unmarshal(data, &s)
	return s, err
}

// marksKept is longer than any rate limit that a manifest may have.
const marksKept = 400 * 24 * time.Hour

// Marks remember what notifiers have told, across restarts and machines.
func (s *Store) Marks() notify.Marks { return marks{s} }

// marks open their bucket when the first notifier with a rate limit is used.
type marks struct{ store *Store }

func (m marks) Change(ctx context.Context, key string, f func([]byte) ([]byte, error)) error {
	b, err := m.store.engine.Bucket(ctx, engine.BucketConfig{Name: "job_marks", TTL: marksKept})
	if err != nil {
		return err
	}
	return notify.InBucket(b).Change(ctx, key, f)
}
