package session

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

// leaseTTL is how long a session stays closed after the process that ran its turn has died. It is renewed every third of
// it, so that two renewals can go amiss, as they do when the engine moves to another process or machine.
const leaseTTL = 15 * time.Second

// takeTries bounds how often a lease is tried to be taken that others take and leave in the very same moments.
const takeTries = 5

// releaseTimeout bounds the giving back of a lease, which would run out by itself.
const releaseTimeout = 5 * time.Second

// A claim is what the holder of a lease writes into it.
type claim struct {
	Token string    `json:"token"` // of this holder alone: so it knows its own claim after an answer was lost
	Owner string    `json:"owner"`
	Turn  string    `json:"turn"`
	Since time.Time `json:"since"`
}

// A lease is the right to run a session's turn, for as long as it is renewed.
type lease struct {
	parts *parts
	key   string // the session's id
	ttl   time.Duration
	claim claim
	data  []byte      // claim, as written
	lost  func(error) // told once if the lease is lost; by the renewing goroutine

	stop context.CancelFunc // ends the renewing
	done chan struct{}      // closed when the renewing goroutine is gone

	// revision is where our claim stands. It belongs to whoever called take until keep, to the renewing goroutine until
	// done is closed, and to release from then on.
	revision uint64
}

func (s *Store) newLease(p *parts, id string, o BeginOptions, lost func(error)) (*lease, error) {
	c := claim{Token: rand.Text(), Owner: o.Owner, Turn: o.Turn, Since: time.Now().UTC()}
	data, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("session %s: lease: %w", id, err)
	}
	return &lease{parts: p, key: id, ttl: s.ttl, claim: c, data: data, lost: lost}, nil
}

// take writes the claim where there is none; a [BusyError] says whose there is.
func (l *lease) take(ctx context.Context) error {
	for range takeTries {
		revision, err := l.parts.leases.Create(ctx, l.key, l.data)
		if err == nil {
			l.revision = revision
			return nil
		}
		if !errors.Is(err, engine.ErrExists) {
			return fmt.Errorf("session %s: lease: %w", l.key, err)
		}
		holder, revision, err := l.parts.holder(ctx, l.key)
		switch {
		case errors.Is(err, engine.ErrNotFound): // it was given back, or ran out, since
			continue
		case err != nil:
			return err
		case holder.Token == l.claim.Token: // written by us, and the answer was lost
			l.revision = revision
			return nil
		}
		return &BusyError{Session: l.key, Owner: holder.Owner}
	}
	return &BusyError{Session: l.key, Owner: "others, in turns"}
}

// holder is the claim that stands, and where.
func (p *parts) holder(ctx context.Context, id string) (claim, uint64, error) {
	v, err := p.leases.Get(ctx, id)
	if err != nil {
		return claim{}, 0, fmt.Errorf("session %.64q: lease: %w", id, err)
	}
	var c claim
	if err := json.Unmarshal(v.Data, &c); err != nil {
		return claim{}, 0, fmt.Errorf("session %.64q: its lease is broken, it will be gone in a moment: %w", id, err)
	}
	return c, v.Revision, nil
}

// keep starts the goroutine that renews the lease, until release.
func (l *lease) keep() {
	ctx, stop := context.WithCancel(context.Background())
	l.stop, l.done = stop, make(chan struct{})
	go l.renewing(ctx)
}

func (l *lease) renewing(ctx context.Context) {
	defer close(l.done)
	until := time.Now().Add(l.ttl) // the engine counts from when it wrote the claim, which was earlier by a moment
	for {
		if !sleep(ctx, l.ttl/3) {
			return
		}
		start := time.Now()
		// A process that was stopped for longer than the lease lasts still gets to ask whose it is.
		deadline := later(until, start.Add(l.ttl/3))
		if err := l.renewBy(ctx, deadline); ctx.Err() != nil {
			return
		} else if err != nil {
			l.lost(err)
			return
		}
		until = start.Add(l.ttl)
	}
}

// renewBy tries until a deadline. Being told that the lease is somebody else's ends it sooner.
func (l *lease) renewBy(ctx context.Context, deadline time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	for {
		try, cancel := context.WithTimeout(ctx, l.ttl/3)
		err := l.renew(try)
		cancel()
		var busy *BusyError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &busy):
			return fmt.Errorf("%s has taken it over", busy.Owner)
		case errors.Is(err, ErrNotFound):
			return errors.New("the session was deleted")
		case !sleep(ctx, l.ttl/20):
			return fmt.Errorf("the lease could not be renewed in time: %w", err)
		}
	}
}

// renew writes the claim again. Where it is not as we left it, either an answer to an earlier try was lost, or the lease
// ran out while this machine slept, or it is another's: take knows. To take it again after it ran out is safe, because
// whoever held it meanwhile has written to the transcript, and our next entry will not fit behind theirs.
func (l *lease) renew(ctx context.Context) error {
	revision, err := l.parts.leases.Update(ctx, l.key, l.data, l.revision)
	switch {
	case err == nil:
		l.revision = revision
		return nil
	case !moved(err):
		return err
	}
	if _, _, err := l.parts.get(ctx, l.key); err != nil {
		return err
	}
	return l.take(ctx)
}

// release stops the renewing and gives the lease back, if it is still ours.
func (l *lease) release(ctx context.Context) error {
	if l.stop != nil {
		l.stop()
		<-l.done
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	for range takeTries {
		err := l.parts.leases.DeleteAt(ctx, l.key, l.revision) // which is at no revision 0, the one before take
		if !moved(err) {
			return err
		}
		// Not as we left it: the last thing we wrote may have been cut short by the end of its context.
		holder, revision, err := l.parts.holder(ctx, l.key)
		if errors.Is(err, engine.ErrNotFound) || err == nil && holder.Token != l.claim.Token {
			return nil
		}
		if err != nil {
			return err
		}
		l.revision = revision
	}
	return nil
}

// moved says of an error that the claim is not where we left it, or may not be.
func moved(err error) bool {
	return errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrUncertain)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// sleep waits, and reports whether ctx let it.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
