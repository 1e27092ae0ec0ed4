package sessionstore

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

// These streams wrap a real one and act like a faulty network.

// An overtaken stream calls a function before its first append.
type overtaken struct {
	engine.Stream
	once *sync.Once
	by   func()
}

func (o overtaken) Append(ctx context.Context, r engine.Append) (uint64, error) {
	o.once.Do(o.by)
	return o.Stream.Append(ctx, r)
}

// whileBeginning returns a store like s. It calls the function happens after a turn has read the
// transcript and before the turn writes.
func whileBeginning(s *Store, happens func()) *Store {
	p := *s.opened
	p.transcripts = overtaken{p.transcripts, new(sync.Once), happens}
	return &Store{ttl: s.ttl, opened: &p}
}

// A hanging stream does not return from an append until the context of the append ends.
type hanging struct {
	engine.Stream
	entered chan struct{} // receives a value for each append that hangs
}

func (h hanging) Append(ctx context.Context, _ engine.Append) (uint64, error) {
	h.entered <- struct{}{}
	<-ctx.Done()
	return 0, ctx.Err()
}

// A faulty stream loses answers to appends, or the appends themselves.
type faulty struct {
	engine.Stream
	loseAnswers  atomic.Int32 // this many appends are written but return an error
	loseRequests atomic.Int32 // this many appends are not written
	forgetful    atomic.Bool  // ids are not remembered
	reads        atomic.Int32 // how often Read was called
}

func (f *faulty) Append(ctx context.Context, r engine.Append) (uint64, error) {
	if f.forgetful.Load() {
		r.ID = ""
	}
	if f.loseRequests.Add(-1) >= 0 {
		return 0, engine.ErrUnavailable
	}
	sequence, err := f.Stream.Append(ctx, r)
	if err == nil && f.loseAnswers.Add(-1) >= 0 {
		return 0, engine.ErrUnavailable
	}
	return sequence, err
}

func (f *faulty) Read(ctx context.Context, topic string, after uint64, limit int) ([]engine.Record, error) {
	f.reads.Add(1)
	return f.Stream.Read(ctx, topic, after, limit)
}

// behindFaults returns a store like s whose transcripts are written through a faulty stream.
func behindFaults(ctx context.Context, s *Store) (*Store, *faulty, error) {
	p, err := s.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	f := &faulty{Stream: p.transcripts}
	with := *p
	with.transcripts = f
	return &Store{ttl: s.ttl, opened: &with}, f, nil
}
