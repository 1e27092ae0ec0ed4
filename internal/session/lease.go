package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/lease"
)

// leaseTTL is how long a session stays closed after the last that was heard of a process on another machine. It is renewed every
// third of it, so that two renewals can go amiss, as they do when the engine moves to another process or machine.
const leaseTTL = 15 * time.Second

// takeTries bounds how often a lease is tried to be taken that others take and leave in the very same moments.
const takeTries = 5

// releaseTimeout bounds the giving back of a lease, which would run out by itself.
const releaseTimeout = 5 * time.Second

// A claim is what the holder of a lease writes into it.
type claim struct {
	Token  string       `json:"token"` // of this claim alone: so its holder knows it after an answer was lost
	Owner  string       `json:"owner"` // for people
	Holder lease.Holder `json:"holder"`
	Turn   string       `json:"turn"`
	Since  time.Time    `json:"since"`
}

// A sessionLease is the right to run a session's turn, for as long as it is renewed.
type sessionLease struct {
	parts *parts
	key   string // the session's id
	ttl   time.Duration
	claim claim
	data  []byte       // claim, as written
	lost  func(error)  // told once if the lease is lost; by the renewing goroutine
	log   *slog.Logger // never nil

	stop context.CancelFunc // ends the renewing
	done chan struct{}      // closed when the renewing goroutine is gone

	// revision is where our claim stands. It belongs to whoever called take until keep, to the renewing goroutine until
	// done is closed, and to release from then on.
	revision uint64
}

func (s *Store) newLease(p *parts, id string, o BeginOptions, lost func(error)) (*sessionLease, error) {
	c := claim{Token: rand.Text(), Owner: cmp.Or(o.Owner, s.Holder.Name), Holder: s.Holder, Turn: o.Turn, Since: time.Now().UTC()}
	data, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("session %s: lease: %w", id, err)
	}
	log := s.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &sessionLease{parts: p, key: id, ttl: s.ttl, claim: c, data: data, lost: lost, log: log}, nil
}

// take writes the claim where there is none, or where the one that there is counts no more; a [BusyError] says whose there is.
func (l *sessionLease) take(ctx context.Context) error {
	for try := 0; try < takeTries; {
		err := l.create(ctx)
		if !errors.Is(err, engine.ErrExists) {
			return err
		}
		v, err := l.parts.leases.Get(ctx, l.key)
		if errors.Is(err, engine.ErrNotFound) { // it was given back since
			try++
			continue
		}
		if err != nil {
			return fmt.Errorf("session %s: lease: %w", l.key, err)
		}
		verdict, err := l.judge(ctx, v)
		switch {
		case err != nil:
			return err
		case verdict == lease.Unsure && sleep(ctx, l.parts.judge.Pause()):
			continue
		case verdict == lease.Unsure:
			return context.Cause(ctx)
		}
		if err = l.replace(ctx, v); !moved(err) { // else somebody else was faster, or we were and were not told
			return err
		}
		try++
	}
	return &BusyError{Session: l.key, Owner: "others, in turns"}
}

// create writes the claim where there is none, or [engine.ErrExists].
func (l *sessionLease) create(ctx context.Context) error {
	revision, err := l.parts.leases.Create(ctx, l.key, l.data)
	switch {
	case err == nil:
		l.revision = revision
		return nil
	case errors.Is(err, engine.ErrExists):
		return err
	}
	return fmt.Errorf("session %s: lease: %w", l.key, err)
}

// replace writes the claim over another.
func (l *sessionLease) replace(ctx context.Context, v engine.Value) error {
	revision, err := l.parts.leases.Update(ctx, l.key, l.data, v.Revision)
	if err == nil {
		l.revision = revision
	}
	return err
}

// judge decides about the claim that stands: free, or unsure yet, or else a [BusyError]. Our own is free to be written
// again. One that cannot be read is damaged, not held.
func (l *sessionLease) judge(ctx context.Context, v engine.Value) (lease.Verdict, error) {
	c, err := decodeClaim(v)
	switch {
	case err != nil:
		l.log.Warn("a session's lease is damaged, and taken over", "session", l.key, "err", err)
		return lease.Free, nil
	case c.Token == l.claim.Token: // written by us, and the answer was lost
		return lease.Free, nil
	case l.parts.abandoned.has(c.Token):
		return lease.Free, nil
	}
	verdict, err := l.parts.judge.Ask(ctx, l.key, c.Holder, func(ctx context.Context) (lease.Sign, error) {
		now, err := l.parts.leases.Now(ctx)
		return lease.Sign{Revision: v.Revision, Age: now.Sub(v.Time)}, err
	})
	if left, ok := errors.AsType[*lease.LeftoverError](err); ok {
		return lease.Held, &BusyError{Session: l.key, Owner: left.Error()}
	}
	switch {
	case err != nil:
		return lease.Held, fmt.Errorf("session %s: lease: %w", l.key, err)
	case verdict == lease.Ahead:
		err = l.stamp(ctx, v)
		fallthrough
	case verdict == lease.Held:
		return lease.Held, cmp.Or(err, error(&BusyError{Session: l.key, Owner: c.Owner}))
	}
	return verdict, nil
}

// stamp writes another's claim again as it is, by which it gets the engine's present time: the one it had is in the future. Its
// holder finds its own token there, and goes on.
func (l *sessionLease) stamp(ctx context.Context, v engine.Value) error {
	if _, err := l.parts.leases.Update(ctx, l.key, v.Data, v.Revision); err != nil && !moved(err) {
		return fmt.Errorf("session %s: lease: %w", l.key, err)
	}
	return nil
}

// holder is the claim that stands, and where. One that is damaged is nobody's.
func (p *parts) holder(ctx context.Context, id string) (claim, uint64, error) {
	v, err := p.leases.Get(ctx, id)
	if err != nil {
		return claim{}, 0, fmt.Errorf("session %.64q: lease: %w", id, err)
	}
	c, err := decodeClaim(v)
	if err != nil {
		return claim{Owner: "nobody: its lease is damaged"}, v.Revision, nil
	}
	return c, v.Revision, nil
}

// decodeClaim reads a claim. One that does not say who holds it is none: so were those of earlier versions.
func decodeClaim(v engine.Value) (claim, error) {
	var c claim
	if err := json.Unmarshal(v.Data, &c); err != nil {
		return claim{}, err
	}
	if c.Token == "" || !c.Holder.Known() {
		return claim{}, errors.New("it does not say who holds it")
	}
	return c, nil
}

// keep starts the goroutine that renews the lease, until release.
func (l *sessionLease) keep() {
	ctx, stop := context.WithCancel(context.Background())
	l.stop, l.done = stop, make(chan struct{})
	go l.renewing(ctx)
}

func (l *sessionLease) renewing(ctx context.Context) {
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
func (l *sessionLease) renewBy(ctx context.Context, deadline time.Time) error {
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

// renew writes the claim again. Where it is not as we left it, either an answer to an earlier try was lost, or it was
// deleted, or it is another's by now. To write it again where there is none is safe, because whoever held it meanwhile has
// written to the transcript, and our next entry will not fit behind theirs.
func (l *sessionLease) renew(ctx context.Context) error {
	err := l.replace(ctx, engine.Value{Revision: l.revision})
	if !moved(err) {
		return err
	}
	if _, _, err := l.parts.get(ctx, l.key); err != nil {
		return err
	}
	if err := l.create(ctx); !errors.Is(err, engine.ErrExists) {
		return err
	}
	v, err := l.parts.leases.Get(ctx, l.key)
	if err != nil {
		return fmt.Errorf("session %s: lease: %w", l.key, err)
	}
	if c, err := decodeClaim(v); err == nil && c.Token != l.claim.Token {
		return &BusyError{Session: l.key, Owner: c.Owner}
	}
	return l.replace(ctx, v) // our own, be it stamped by somebody who looked; or it is damaged, and nobody's
}

// release stops the renewing and gives the lease back, if it is still ours. Where that fails, as on a full disk, the next turn of this
// store takes the lease over without waiting.
func (l *sessionLease) release(ctx context.Context) error {
	if l.stop != nil {
		l.stop()
		<-l.done
	}
	err := l.giveBack(ctx)
	if err != nil {
		l.parts.abandoned.add(l.claim.Token)
	}
	return err
}

func (l *sessionLease) giveBack(ctx context.Context) error {
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

// abandoned are the tokens of claims that a store has given up and could not delete.
type abandoned struct {
	mu     sync.Mutex // protects tokens
	tokens map[string]bool
}

func (a *abandoned) add(token string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tokens == nil {
		a.tokens = make(map[string]bool)
	}
	a.tokens[token] = true
}

func (a *abandoned) has(token string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tokens[token]
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
