package session

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// beginTries bounds how often Begin reads a transcript anew because somebody still wrote to it: the holder of a lease
// that ran out, who stops at the first entry of ours.
const beginTries = 5

// BeginOptions say who begins a turn. The zero value works.
type BeginOptions struct {
	Owner string // who others are told is running it; "": this process and machine
	Turn  string // its id; "": one is made
}

// Begin takes the session's lease and begins a turn, which holds it until [Turn.End]; a [BusyError] says that another
// turn is running. The lease of a process that has died is taken over. A turn that was cut off together with its process is recorded as interrupted, and its conversation
// mended, before the new one is recorded as begun. The turn's context descends from ctx.
func (s *Store) Begin(ctx context.Context, id string, o BeginOptions) (*Turn, error) {
	p, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	o.Turn = cmp.Or(o.Turn, NewTurnID())
	t := &Turn{store: s, parts: p, id: o.Turn, writing: make(chan struct{}, 1)}
	if t.session, _, err = p.get(ctx, id); err != nil {
		return nil, err
	}
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	t.open, t.shut = context.WithCancelCause(context.WithoutCancel(ctx))
	if t.lease, err = s.newLease(p, id, o, t.lose); err == nil {
		err = t.start(ctx)
	}
	if err != nil {
		t.close(err)
		return nil, err
	}
	return t, nil
}

// start takes the lease and brings the transcript to where the turn has begun.
func (t *Turn) start(ctx context.Context) error {
	if err := t.lease.take(ctx); err != nil {
		return t.abandon(ctx, err)
	}
	t.lease.keep() // from here on: a long transcript takes its time
	err := t.enter(ctx)
	for try := 1; errors.Is(err, errOvertaken) && try < beginTries; try++ {
		err = t.enter(ctx)
	}
	if err == nil {
		err = t.stillThere(ctx)
	}
	if err != nil {
		return t.abandon(ctx, err)
	}
	return nil
}

// abandon gives back the lease of a turn that could not begin, be it that it was taken without our being told.
func (t *Turn) abandon(ctx context.Context, err error) error {
	var busy *BusyError
	if errors.As(err, &busy) {
		return err
	}
	return errors.Join(err, t.lease.release(ctx))
}

// enter reads the transcript, mends it, and writes that the turn has begun. From its first entry on, nobody else's fit.
func (t *Turn) enter(ctx context.Context) error {
	entries, err := t.parts.read(ctx, t.session.ID)
	if err != nil {
		return err
	}
	t.reset(entries) // nobody else has the turn yet
	for _, e := range append(mending(entries), Entry{Turn: t.id, Status: Began}) {
		e.Time = time.Now().UTC()
		if err := t.put(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// stillThere sees whether the session was deleted since we looked: then our entries, written behind [Store.Delete]'s
// back, must go.
func (t *Turn) stillThere(ctx context.Context) error {
	_, _, err := t.parts.get(ctx, t.session.ID)
	if errors.Is(err, ErrNotFound) {
		return errors.Join(err, t.parts.transcripts.Purge(ctx, t.session.ID))
	}
	return err
}
