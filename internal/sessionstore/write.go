package sessionstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/pause"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// writeTries and writePause bound how often an entry is sent whose fate is unknown, and the wait
// before the second time, which doubles. The engine has its own patience before; this is for what
// it gives up on.
const (
	writeTries = 5
	writePause = 50 * time.Millisecond
)

// errOvertaken says that somebody else has written to the transcript, behind our last entry or over
// it.
var errOvertaken = errors.New("somebody else went on with the session")

// write adds an entry of this turn, unless the turn is over. To be overtaken is the end of it:
// there is no going back to a conversation that others went on with.
func (t *Turn) write(ctx context.Context, e session.Entry) error {
	e.Turn, e.Time = t.id, time.Now().UTC()
	err := t.put(ctx, e)
	if errors.Is(err, errOvertaken) {
		t.lose(err)
		return t.isOver()
	}
	return err
}

// put writes an entry behind the last that we know of, and only there. Whoever has lost the lease
// without noticing, because its process was stopped or its machine slept, is stopped here.
func (t *Turn) put(ctx context.Context, e session.Entry) error {
	if err := check(&e); err != nil {
		return err
	}
	var err error
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.open, cancel)() // a turn that is over waits for no engine
	select {
	case t.writing <- struct{}{}:
		defer func() { <-t.writing }()
		err = t.persist(ctx, e)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		return cmp.Or(t.isOver(), err)
	}
	return nil
}

// persist sends an entry until its fate is known, or there is no more patience.
func (t *Turn) persist(ctx context.Context, e session.Entry) error {
	var claim json.RawMessage
	if e.Status == session.Began {
		claim = t.lease.data
	}
	data, err := t.state.encode(e, claim)
	if err != nil {
		return err
	}
	t.written++
	id := fmt.Sprintf("%s.%d", t.lease.claim.Token, t.written) // not the turn's id: callers give that, and may repeat it
	rest := writePause
	for try := 1; ; try++ {
		if err := t.isOver(); err != nil {
			return err
		}
		err := t.send(ctx, id, data)
		switch {
		case err == nil || isFinal(err) || try == writeTries || ctx.Err() != nil:
			return err
		case errors.Is(err, engine.ErrConflict): // an entry of our own was in its place: the next try goes behind that
		case pause.For(ctx, rest) != nil:
			return err
		}
		rest *= 2
	}
}

// isFinal says of an error that trying again changes nothing.
func isFinal(err error) bool {
	return errors.Is(err, errOvertaken) || errors.Is(err, engine.ErrTooLarge) || errors.Is(err, engine.ErrClosed)
}

// send tries to write an entry once. [engine.ErrConflict] means that an entry of our own was in its
// place, of which we did not know; we do now.
func (t *Turn) send(ctx context.Context, id string, data []byte) error {
	after := t.state.last
	sequence, err := t.parts.transcripts.Append(ctx, engine.Append{Topic: t.session.ID, Data: data, ID: id, After: &after})
	switch {
	case err == nil:
		return t.adopt(engine.Record{Sequence: sequence, Data: data})
	case errors.Is(err, engine.ErrConflict):
		return t.catchUp(ctx, data)
	case !isFinal(err):
		t.unsure = append(t.unsure, data)
	}
	return err
}

// catchUp reads what stands behind our last entry. It may be the one that is being written, or an
// earlier one whose fate was unknown; nobody else's.
func (t *Turn) catchUp(ctx context.Context, data []byte) error {
	records, err := t.parts.transcripts.Read(ctx, t.session.ID, t.state.last, 1)
	if err != nil {
		return err
	}
	if len(records) == 0 {
		return fmt.Errorf("%w: its transcript is gone", errOvertaken)
	}
	found := func(ours []byte) bool { return bytes.Equal(ours, records[0].Data) }
	switch {
	case found(data):
		return t.adopt(records[0])
	case slices.ContainsFunc(t.unsure, found):
		return cmp.Or(t.adopt(records[0]), engine.ErrConflict)
	}
	return errOvertaken
}

// adopt makes an entry that is on disk part of the conversation. It is decoded from what was
// written, so that what we have is what others will read. Entries whose fate was unknown were meant
// for the place that this one has: there is none for them any more.
func (t *Turn) adopt(r engine.Record) error {
	k, err := decodeKept(r)
	if err != nil {
		return err
	}
	t.unsure = nil
	t.mu.Lock()
	t.state.add(k)
	t.mu.Unlock()
	return nil
}
