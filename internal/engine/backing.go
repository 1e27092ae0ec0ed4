package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// dedupWindow is how long the server remembers the ids of messages, in memory; [Append] promises
// this time. A call tries again for half of it.
const dedupWindow = time.Minute

// A backing is the server's stream behind a bucket, a stream or a queue.
type backing struct {
	engine *Engine
	link   *link
	name   string // the server's name for it
	root   string // the beginning of its subjects, with a full stop at the end
	stream jetstream.Stream

	exact   bool // there is only one copy, which has every write
	forgets bool // it has only the last message of each subject
}

// ensure opens a stream of the server, and creates it if necessary. Several processes may do so at
// once.
func (e *Engine) ensure(ctx context.Context, want jetstream.StreamConfig) (*backing, error) {
	want.Storage = jetstream.FileStorage
	want.MaxMsgs, want.MaxConsumers, want.MaxMsgSize = -1, -1, -1
	if want.MaxBytes == 0 {
		want.MaxBytes = -1
	}
	if want.MaxAge > 0 { // the server requires it
		want.Duplicates = min(want.Duplicates, want.MaxAge)
	}
	var s jetstream.Stream
	err := e.link.do(ctx, func(ctx context.Context) (err error) {
		s, err = e.openOrCreate(ctx, want)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("engine: %s: %w", want.Name, err)
	}
	return &backing{engine: e, link: e.link, name: want.Name, stream: s, exact: e.node != nil,
		forgets: want.MaxMsgsPerSubject == 1}, nil
}

func (e *Engine) openOrCreate(ctx context.Context, want jetstream.StreamConfig) (jetstream.Stream, error) {
	for {
		s, err := e.js.Stream(ctx, want.Name)
		if err == nil {
			return e.adjust(ctx, s, want)
		}
		if !errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil, err
		}
		s, err = e.create(ctx, want)
		if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // otherwise another process was faster, and its stream may have to be adjusted
			return s, err
		}
	}
}

// create creates a stream with as many copies as possible.
func (e *Engine) create(ctx context.Context, want jetstream.StreamConfig) (jetstream.Stream, error) {
	for want.Replicas = e.copies(); ; want.Replicas-- {
		s, err := e.js.CreateStream(ctx, want)
		if err == nil || want.Replicas == 1 || e.replicas != 0 || !tooManyCopies(err) {
			return s, err
		}
	}
}

// copies returns how many copies of a stream to ask for.
func (e *Engine) copies() int {
	switch {
	case e.replicas != 0:
		return e.replicas
	case e.node != nil || e.nc.ConnectedClusterName() == "":
		return 1
	}
	return 3 // survives the loss of one server; more copies would only be slower
}

// tooManyCopies reports whether an error means that the cluster is too small. The codes are:
// replicas > 1 not supported in non-clustered mode, no suitable peers for placement, insufficient
// resources.
func tooManyCopies(err error) bool {
	return hasCode(err, 10074) || hasCode(err, 10005) || hasCode(err, 10023)
}

// adjust changes the settings of an existing stream to the wanted ones. If the server refuses, the
// stream stays as it is: a bucket that keeps its values for longer than wanted is better than none.
func (e *Engine) adjust(ctx context.Context, s jetstream.Stream, want jetstream.StreamConfig) (jetstream.Stream, error) {
	have := s.CachedInfo().Config
	next := have
	next.MaxAge, next.MaxBytes, next.Duplicates = want.MaxAge, want.MaxBytes, want.Duplicates
	next.MaxMsgsPerSubject, next.AllowDirect = want.MaxMsgsPerSubject, want.AllowDirect
	next.AllowMsgTTL = have.AllowMsgTTL || want.AllowMsgTTL // cannot be turned off again
	next.AllowAtomicPublish = have.AllowAtomicPublish || want.AllowAtomicPublish
	next.SubjectDeleteMarkerTTL = want.SubjectDeleteMarkerTTL
	if copies := e.copies(); e.replicas != 0 || copies > have.Replicas {
		next.Replicas = copies
	}
	if sameSettings(have, next) {
		return s, nil
	}
	updated, err := e.js.UpdateStream(ctx, next)
	if err != nil && tooManyCopies(err) && next.Replicas != have.Replicas {
		if next.Replicas = have.Replicas; sameSettings(have, next) {
			return s, nil
		}
		updated, err = e.js.UpdateStream(ctx, next)
	}
	if err == nil {
		return updated, nil
	}
	if passing(err) {
		return nil, err
	}
	e.log.Warn("engine: a stream keeps its old settings", "stream", want.Name, "err", err)
	return s, nil
}

// sameSettings compares the settings that adjust changes.
func sameSettings(a, b jetstream.StreamConfig) bool {
	return a.MaxAge == b.MaxAge && a.MaxBytes == b.MaxBytes && a.Duplicates == b.Duplicates &&
		a.MaxMsgsPerSubject == b.MaxMsgsPerSubject && a.AllowDirect == b.AllowDirect && a.AllowMsgTTL == b.AllowMsgTTL &&
		a.AllowAtomicPublish == b.AllowAtomicPublish && a.SubjectDeleteMarkerTTL == b.SubjectDeleteMarkerTTL && a.Replicas == b.Replicas
}

// state returns the server's state of the stream, with its first and last sequence numbers.
func (b *backing) state(ctx context.Context) (jetstream.StreamState, error) {
	var state jetstream.StreamState
	err := b.link.do(ctx, func(ctx context.Context) error {
		info, err := b.stream.Info(ctx)
		if err == nil {
			state = info.State
		}
		return err
	})
	return state, err
}
