package sessionstore

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
	"github.com/patchbay-dev/patchbay/internal/pause"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// leaseTTL is how long a session stays closed after the last that was heard of a process on another
// machine. The holder gives a sign every third of it, so that two signs can go amiss, as they do
// when the engine moves to another process or machine.
const leaseTTL = 15 * time.Second

// A claim says who runs a turn. It is part of the entry with which the turn begins, and counts
// until the turn's end is written. The holder's signs of life are the entries of the turn, and the
// claim again in a bucket.
type claim struct {
	Token  string       `json:"token"` // of this claim alone: so its holder knows it after an answer was lost
	Owner  string       `json:"owner"` // for people
	Holder lease.Holder `json:"holder"`
	Turn   string       `json:"turn"`
	Since  time.Time    `json:"since"`
}

// known tells whether the claim says who holds it. Those of earlier versions did not.
func (c *claim) known() bool { return c.Token != "" && c.Holder.Known() }

// readClaim reads the claim of an entry. One that is damaged is there, and nobody's.
func readClaim(data []byte) *claim {
	var c claim
	if err := json.Unmarshal(data, &c); err != nil || !c.known() {
		return &claim{}
	}
	return &c
}

// A sessionLease is the right to run a session's turn, for as long as its holder is heard of.
type sessionLease struct {
	parts *parts
	key   string // the session's id
	ttl   time.Duration
	claim claim
	data  []byte                      // claim, as written
	held  func(context.Context) error // asks whether the session is still ours: nil, a [BusyError], [ErrNotFound]
	lost  func(error)                 // told once if it is lost; by the renewing goroutine
	log   *slog.Logger                // never nil

	stop context.CancelFunc // ends the renewing
	done chan struct{}      // closed when the renewing goroutine is gone

	// revision is that of our last sign in the bucket, 0 before the first. It belongs to the
	// renewing goroutine until done is closed, and to release from then on.
	revision uint64
}

func (s *Store) newLease(t *Turn, o BeginOptions) (*sessionLease, error) {
	c := claim{Token: rand.Text(), Owner: cmp.Or(o.Owner, s.Holder.Name), Holder: s.Holder, Turn: o.Turn, Since: time.Now().UTC()}
	data, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("session %s: lease: %w", t.session.ID, err)
	}
	log := s.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &sessionLease{parts: t.parts, key: t.session.ID, ttl: s.ttl, claim: c, data: data, held: t.checkHeld, lost: t.lose, log: log}, nil
}

// owns tells whether a claim is ours.
func (l *sessionLease) owns(c *claim) bool { return c != nil && c.Token == l.claim.Token }

// judge decides about the turn that is open, if any: free, or unsure yet, or else a [BusyError]. A
// claim that cannot be read is damaged, not held.
func (l *sessionLease) judge(ctx context.Context, now *state) (lease.Verdict, error) {
	if now.open == nil {
		return lease.Free, nil
	}
	sign, err := l.sign(ctx)
	if err != nil {
		return lease.Held, err
	}
	c := now.open.claim
	if c == nil { // its version kept the claim in the bucket
		if c = sign.claim; c == nil {
			return lease.Free, nil
		}
	}
	switch {
	case !c.known():
		l.log.Warn("a session's lease is damaged, and taken over", "session", l.key)
		return lease.Free, nil
	case l.owns(c), l.parts.abandoned.has(c.Token):
		return lease.Free, nil
	}
	return l.ask(ctx, c, sign, now)
}

// A sign is what the bucket has about a session: the claim of the turn that gave a sign last. None
// is nil.
type sign struct {
	engine.Value
	claim *claim
}

func (l *sessionLease) sign(ctx context.Context) (sign, error) {
	v, err := l.parts.leases.Get(ctx, l.key)
	if errors.Is(err, engine.ErrNotFound) {
		return sign{}, nil
	}
	if err != nil {
		return sign{}, fmt.Errorf("session %s: lease: %w", l.key, err)
	}
	return sign{v, readClaim(v.Data)}, nil
}

// ask judges the holder of a claim that counts.
func (l *sessionLease) ask(ctx context.Context, c *claim, last sign, now *state) (lease.Verdict, error) {
	if last.claim == nil || last.claim.Token != c.Token { // of an earlier turn
		last.Value = engine.Value{Revision: last.Revision}
	}
	verdict, err := l.parts.judge.Ask(ctx, l.key, c.Holder, func(ctx context.Context) (lease.Heartbeat, error) {
		at, err := l.parts.leases.Now(ctx)
		return lease.Heartbeat{Revision: last.Revision + now.last, Age: youngest(at, last.Time, now.at)}, err
	})
	if left, ok := errors.AsType[*lease.LeftoverError](err); ok {
		return lease.Held, &session.BusyError{Session: l.key, Owner: left.Error()}
	}
	switch {
	case err != nil:
		return lease.Held, fmt.Errorf("session %s: lease: %w", l.key, err)
	case verdict == lease.Ahead:
		err = l.stamp(ctx, c, last.Revision)
		fallthrough
	case verdict == lease.Held:
		return lease.Held, cmp.Or(err, error(&session.BusyError{Session: l.key, Owner: c.Owner}))
	}
	return verdict, nil
}

// youngest is the age of the last of two signs; the zero time is no sign. One from the future
// counts only where there is no other: the clock was set back since.
func youngest(now, a, b time.Time) time.Duration {
	first, second := now.Sub(a), now.Sub(b)
	switch {
	case a.IsZero(), first < 0 && !b.IsZero() && second >= 0:
		return second
	case b.IsZero(), second < 0 && first >= 0:
		return first
	}
	return min(first, second)
}

// stamp gives a sign for another's turn, by which it gets the engine's present time: the one it had
// is in the future. Its holder does so too when its time has come.
func (l *sessionLease) stamp(ctx context.Context, c *claim, revision uint64) error {
	data, err := json.Marshal(c)
	if err == nil {
		_, err = l.parts.leases.Update(ctx, l.key, data, revision)
	}
	if err != nil && !signChanged(err) {
		return fmt.Errorf("session %s: lease: %w", l.key, err)
	}
	return nil
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
		if pause.For(ctx, l.ttl/3) != nil {
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

// renewBy tries until a deadline. Being told that the session is somebody else's ends it sooner.
func (l *sessionLease) renewBy(ctx context.Context, deadline time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	var why error // the last failure that says more than that the time was up
	for {
		try, cancel := context.WithTimeout(ctx, l.ttl/3)
		err := l.renew(try)
		cancel()
		if why == nil || !errors.Is(err, context.DeadlineExceeded) {
			why = err
		}
		var busy *session.BusyError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &busy):
			return fmt.Errorf("%s has taken it over", busy.Owner)
		case errors.Is(err, session.ErrNotFound):
			return errors.New("the session was deleted")
		case pause.For(ctx, l.ttl/20) != nil:
			return fmt.Errorf("the lease could not be renewed in time: %w", why)
		}
	}
}

// renew gives a sign of life, where the session is still ours. Where it is taken at that very
// moment, the sign does no harm: it has our token, and those who look at another's claim pass over
// it.
func (l *sessionLease) renew(ctx context.Context) error {
	if err := l.held(ctx); err != nil {
		return err
	}
	revision, err := l.parts.leases.Put(ctx, l.key, l.data)
	if err == nil {
		l.revision = revision
	}
	return err
}

// release stops the renewing and takes our signs away, if they are still there. The claim itself
// ends with the turn's last entry.
func (l *sessionLease) release(ctx context.Context) error {
	if l.stop != nil {
		l.stop()
		<-l.done
	}
	if l.revision == 0 {
		return nil
	}
	if err := l.parts.leases.DeleteAt(ctx, l.key, l.revision); err != nil && !signChanged(err) {
		return fmt.Errorf("session %s: lease: %w", l.key, err)
	}
	return nil
}

// checkHeld asks whether the transcript is still ours to write to.
func (t *Turn) checkHeld(ctx context.Context) error {
	newest, err := t.lease.parts.transcripts.Newest(ctx, t.session.ID)
	if errors.Is(err, engine.ErrNotFound) {
		return notFound(t.session.ID)
	}
	if err != nil {
		return err
	}
	k, err := decodeKept(newest)
	if err != nil {
		return err
	}
	t.mu.Lock()
	known := t.state.last
	t.mu.Unlock()
	if k.Sequence <= known || k.Turn == t.id { // else it is not even one that is just being written
		return nil
	}
	return t.overtaker(ctx)
}

// overtaker names who has taken the session over.
func (t *Turn) overtaker(ctx context.Context) error {
	now, err := t.lease.parts.load(ctx, t.session.ID)
	if err != nil {
		return err
	}
	owner := "another turn"
	if now.open != nil && now.open.claim != nil {
		owner = cmp.Or(now.open.claim.Owner, owner)
	}
	return &session.BusyError{Session: t.session.ID, Owner: owner}
}

// abandoned are the tokens of claims that a store has given up and could not end.
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

// signChanged says of an error that a sign is not where we left it, or may not be.
func signChanged(err error) bool {
	return errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrUncertain)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
