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

// writeTries limits how often an entry is sent whose result is unknown. writePause is the pause
// before the second try, and doubles after that. The engine has already retried on its own then.
const (
	writeTries = 5
	writePause = 50 * time.Millisecond
)

// errOvertaken reports that another turn has written to the transcript, or that the transcript was
// deleted.
var errOvertaken = errors.New("another turn has written to the session")

// write adds an entry of this turn, unless the turn is over. If another turn has written to the
// session, this turn is lost, because it works with an outdated conversation.
func (t *Turn) write(ctx context.Context, e session.Entry) error {
	e.Turn, e.Time = t.id, time.Now().UTC()
	err := t.put(ctx, e)
	if errors.Is(err, errOvertaken) {
		t.lose(err)
		return t.isOver()
	}
	return err
}

// put writes an entry behind the last known one, and only there. This stops a turn that lost its
// lease without noticing, because its process was stopped or its machine slept.
func (t *Turn) put(ctx context.Context, e session.Entry) error {
	if err := check(&e); err != nil {
		return err
	}
	var err error
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.open, cancel)() // a turn that is over does not wait for the engine
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

// persist sends an entry until the result is known or the tries are used up.
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
	id := fmt.Sprintf("%s.%d", t.lease.claim.Token, t.written) // not the turn's id, which callers choose and may repeat
	rest := writePause
	for try := 1; ; try++ {
		if err := t.isOver(); err != nil {
			return err
		}
		err := t.send(ctx, id, data)
		switch {
		case err == nil || isFinal(err) || try == writeTries || ctx.Err() != nil:
			return err
		case errors.Is(err, engine.ErrConflict): // an earlier entry of our own took its place: try again behind that
		case pause.For(ctx, rest) != nil:
			return err
		}
		rest *= 2
	}
}

// isFinal reports whether trying again is useless after an error.
func isFinal(err error) bool {
	return errors.Is(err, errOvertaken) || errors.Is(err, engine.ErrTooLarge) || errors.Is(err, engine.ErrClosed)
}

// send tries to write an entry once. [engine.ErrConflict] means that an earlier entry of our own
// was already in its place. That entry now belongs to the known conversation.
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

// catchUp reads the entry behind the last known one. It accepts the entry that is being written, or
// an earlier one of ours whose result was unknown, and no other.
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

// adopt adds a written entry to the conversation. It decodes the written bytes, so that this
// process has the same as others will read. Other entries whose result was unknown were meant for
// the same place, so they were not written.
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
