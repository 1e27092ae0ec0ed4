package sessionstore

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

// Streams in front of the real one that do to it what networks do.

// overtaken is a stream before whose first append something else happens.
type overtaken struct {
	engine.Stream
	once *sync.Once
	by   func()
}

func (o overtaken) Append(ctx context.Context, r engine.Append) (uint64, error) {
	o.once.Do(o.by)
	return o.Stream.Append(ctx, r)
}

// whileBeginning is a store like s where something happens after a turn has read the transcript and
// before it writes.
func whileBeginning(s *Store, happens func()) *Store {
	p := *s.opened
	p.transcripts = overtaken{p.transcripts, new(sync.Once), happens}
	return &Store{ttl: s.ttl, opened: &p}
}

// hanging is a stream on which appends hang for as long as they are let.
type hanging struct {
	engine.Stream
	entered chan struct{} // told of each that hangs
}

func (h hanging) Append(ctx context.Context, _ engine.Append) (uint64, error) {
	h.entered <- struct{}{}
	<-ctx.Done()
	return 0, ctx.Err()
}

// A faulty stream loses answers to appends, or the appends themselves.
type faulty struct {
	engine.Stream
	loseAnswers  atomic.Int32 // of so many appends: written, and not told
	loseRequests atomic.Int32 // so many appends: not written
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

// behindFaults is a store like s whose transcripts are written through a faulty stream.
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
