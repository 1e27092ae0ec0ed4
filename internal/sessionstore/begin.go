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

// takeTries limits how often Begin tries to take a session that others take and release at the same
// moments.
const takeTries = 5

// releaseTimeout limits how long the release of a session may take if its turn could not begin.
// Without a release the claim expires.
const releaseTimeout = 5 * time.Second

// BeginOptions are the options of [Store.Begin]. The zero value works.
type BeginOptions struct {
	Owner string // the name that other processes see in a BusyError; "": this process and machine
	Turn  string // the id of the turn; "": a new one
}

// Begin begins a turn, which holds the session until [Turn.End]. It returns a [session.BusyError]
// if another turn is running. It takes the session over if that turn's process has died. A turn
// that was cut off when its process died is recorded as interrupted, and its transcript is
// repaired, before the new turn is recorded as begun. The turn's context descends from ctx.
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

// start takes the session, and releases it if the turn cannot begin after all.
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

// take writes that the turn has begun if no other turn is running. That entry is the claim on the
// session. If several turns try at once, all append behind the same last entry, and the engine
// accepts only one of them.
func (t *Turn) take(ctx context.Context) (err error) {
	if t.state = t.parts.tails.take(t.session.ID); t.state == nil {
		if t.state, err = t.parts.load(ctx, t.session.ID); err != nil {
			t.state = &state{}
			return err
		}
	}
	for try := 0; try < takeTries; {
		verdict, err := t.lease.checkOpenTurn(ctx, t.state)
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
	return &session.BusyError{Session: t.session.ID, Owner: "other processes, one after another"}
}

// refresh reads the entries that others have written since.
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

// writeBegan repairs the transcript and writes that the turn has begun. After its first entry the
// engine refuses entries of other turns.
func (t *Turn) writeBegan(ctx context.Context) error {
	for _, e := range append(t.state.repairs(), session.Entry{Turn: t.id, Status: session.Began}) {
		e.Time = time.Now().UTC()
		if err := t.put(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// abandon ends a turn that could not begin but may have written that it has begun.
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

// checkNotDeleted checks whether the session was deleted after Begin read it. In that case the new
// entries, which [Store.Delete] did not see, must be deleted too.
func (t *Turn) checkNotDeleted(ctx context.Context) error {
	_, _, err := t.parts.get(ctx, t.session.ID)
	if errors.Is(err, session.ErrNotFound) {
		return errors.Join(err, t.parts.transcripts.Purge(ctx, t.session.ID))
	}
	return err
}
