package sessionstore

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/lease"
	"github.com/patchbay-dev/patchbay/internal/pause"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// takeTries bounds how often a session is tried to be taken that others take and leave in the very
// same moments.
const takeTries = 5

// releaseTimeout bounds the giving back of a session whose turn could not begin. Its claim would
// run out by itself.
const releaseTimeout = 5 * time.Second

// BeginOptions say who begins a turn. The zero value works.
type BeginOptions struct {
	Owner string // who others are told is running it; "": this process and machine
	Turn  string // its id; "": one is made
}

// Begin begins a turn, which holds the session until [Turn.End]; a [BusyError] says that another
// turn is running. The session of a process that has died is taken over. A turn that was cut off
// together with its process is recorded as interrupted, and its conversation mended, before the new
// one is recorded as begun. The turn's context descends from ctx.
func (s *Store) Begin(ctx context.Context, id string, o BeginOptions) (*Turn, error) {
	p, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	o.Turn = cmp.Or(o.Turn, session.NewTurnID())
	t := &Turn{store: s, parts: p, id: o.Turn, writing: make(chan struct{}, 1), state: &state{}}
	if t.session, _, err = p.get(ctx, id); err != nil {
		return nil, err
	}
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	t.open, t.shut = context.WithCancelCause(context.WithoutCancel(ctx))
	if t.lease, err = s.newLease(t, o); err == nil {
		err = t.start(ctx)
	}
	if err != nil {
		t.close(err)
		return nil, err
	}
	return t, nil
}

// start takes the session, and gives it back where the turn cannot begin after all.
func (t *Turn) start(ctx context.Context) error {
	err := t.take(ctx)
	if err == nil {
		err = t.checkNotDeleted(ctx)
	}
	if err != nil {
		return t.abandon(ctx, err)
	}
	t.lease.keep()
	return nil
}

// take writes that the turn has begun, where no other is running. That entry is the claim to the
// session: of several that try at once, the entry of one fits behind the last that all of them
// know.
func (t *Turn) take(ctx context.Context) (err error) {
	if t.state = t.parts.tails.take(t.session.ID); t.state == nil {
		if t.state, err = t.parts.load(ctx, t.session.ID); err != nil {
			t.state = &state{}
			return err
		}
	}
	for try := 0; try < takeTries; {
		verdict, err := t.lease.judge(ctx, t.state)
		if err != nil {
			return err
		}
		if verdict == lease.Unsure {
			if pause.For(ctx, t.parts.judge.Pause()) != nil {
				return context.Cause(ctx)
			}
		} else if err, try = t.writeBegan(ctx), try+1; !errors.Is(err, errOvertaken) {
			return err
		}
		if err := t.refresh(ctx); err != nil {
			return err
		}
	}
	return &session.BusyError{Session: t.session.ID, Owner: "others, in turns"}
}

// refresh reads what others have written since.
func (t *Turn) refresh(ctx context.Context) error {
	now, err := t.parts.advance(ctx, t.session.ID, t.state)
	if err != nil {
		return err
	}
	t.mu.Lock()
	t.state, t.unsure = now, nil
	t.mu.Unlock()
	return nil
}

// writeBegan mends the transcript and writes that the turn has begun. From its first entry on, nobody
// else's fit.
func (t *Turn) writeBegan(ctx context.Context) error {
	for _, e := range append(t.state.repairs(), session.Entry{Turn: t.id, Status: session.Began}) {
		e.Time = time.Now().UTC()
		if err := t.put(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// abandon ends a turn that could not begin and has said that it has, be it that nobody answered.
func (t *Turn) abandon(ctx context.Context, err error) error {
	if errors.Is(err, session.ErrNotFound) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if len(t.unsure) > 0 {
		if found := t.catchUp(ctx, nil); found != nil && !errors.Is(found, engine.ErrConflict) && !errors.Is(found, errOvertaken) {
			t.parts.abandoned.add(t.lease.claim.Token)
			return errors.Join(err, found)
		}
	}
	if open := t.state.open; open == nil || !t.lease.owns(open.claim) {
		return err
	}
	e := session.Entry{Turn: t.id, Time: time.Now().UTC(), Status: session.Interrupted}
	if ended := t.put(ctx, e); ended != nil && !errors.Is(ended, errOvertaken) {
		t.parts.abandoned.add(t.lease.claim.Token)
		return errors.Join(err, ended)
	}
	return err
}

// checkNotDeleted sees whether the session was deleted since we looked: then our entries, written behind
// [Store.Delete]'s back, must go.
func (t *Turn) checkNotDeleted(ctx context.Context) error {
	_, _, err := t.parts.get(ctx, t.session.ID)
	if errors.Is(err, session.ErrNotFound) {
		return errors.Join(err, t.parts.transcripts.Purge(ctx, t.session.ID))
	}
	return err
}
