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

// leaseTTL is the age at which a heartbeat is too old. The holder sends three heartbeats in that
// period, so that two can get lost. This happens when the engine moves to another process or
// machine. Before a process takes the session of another machine, it waits two thirds of leaseTTL
// for a newer heartbeat.
const leaseTTL = 15 * time.Second

// A claim says who runs a turn. It is part of the entry with which the turn begins, and holds until
// the end of the turn is written. Every entry of the turn counts as a heartbeat. The holder also
// writes a copy of the claim to a bucket again and again, and each copy is a heartbeat.
type claim struct {
	Token  string       `json:"token"` // unique: its holder recognizes the claim after an answer was lost
	Owner  string       `json:"owner"` // for people
	Holder lease.Holder `json:"holder"`
	Turn   string       `json:"turn"`
	Since  time.Time    `json:"since"`
}

// known reports whether the claim says who holds it. Claims of earlier versions do not.
func (c *claim) known() bool { return c.Token != "" && c.Holder.Known() }

// readClaim decodes the claim of an entry. A damaged claim becomes an empty one.
func readClaim(data []byte) *claim {
	var c claim
	if err := json.Unmarshal(data, &c); err != nil || !c.known() {
		return &claim{}
	}
	return &c
}

// A sessionLease is the right to run a session's turn. It lasts while the heartbeats of its holder
// arrive.
type sessionLease struct {
	parts *parts
	key   string // the session's id
	ttl   time.Duration
	claim claim
	data  []byte                      // the encoded claim
	held  func(context.Context) error // checks whether the session is still ours: nil, a [session.BusyError] or [session.ErrNotFound]
	lost  func(error)                 // called once if the lease is lost, by the renewing goroutine
	log   *slog.Logger                // never nil

	stop context.CancelFunc // ends the renewing goroutine
	done chan struct{}      // closed when the renewing goroutine has ended

	// revision is the revision of our last heartbeat in the bucket, or 0 before the first. It
	// belongs to the renewing goroutine until done is closed, and after that to release.
	revision uint64
}

func (s *Store) newLease(t *Turn, o BeginOptions) (*sessionLease, error) {
	c := claim{Token: rand.Text(), Owner: cmp.Or(o.Owner, s.Holder.Name), Holder: s.Holder, Turn: o.Turn, Since: time.Now().UTC()}
	data, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("session %s: lease: %w", t.session.ID, err)
	}
	log := cmp.Or(s.Logger, slog.New(slog.DiscardHandler))
	return &sessionLease{parts: t.parts, key: t.session.ID, ttl: s.ttl, claim: c, data: data, held: t.checkHeld, lost: t.lose, log: log}, nil
}

// owns reports whether a claim is ours.
func (l *sessionLease) owns(c *claim) bool { return c != nil && c.Token == l.claim.Token }

// checkOpenTurn checks whether a new turn may begin although a turn may be open. [lease.Free] means
// yes, [lease.Unsure] means that the caller must ask again later, and a [session.BusyError] means
// no. A claim that cannot be read is damaged and does not count.
func (l *sessionLease) checkOpenTurn(ctx context.Context, now *state) (lease.Verdict, error) {
	if now.open == nil {
		return lease.Free, nil
	}
	last, err := l.lastBeat(ctx)
	if err != nil {
		return lease.Held, err
	}
	c := now.open.claim
	if c == nil { // an earlier version stored the claim in the bucket
		if c = last.claim; c == nil {
			return lease.Free, nil
		}
	}
	switch {
	case !c.known():
		l.log.Warn("taking over a session whose lease is damaged", "session", l.key)
		return lease.Free, nil
	case l.owns(c), l.parts.abandoned.has(c.Token):
		return lease.Free, nil
	}
	return l.ask(ctx, c, last, now)
}

// A heartbeat is the last heartbeat of a session in the bucket. Its claim is nil if there is none.
type heartbeat struct {
	engine.Value
	claim *claim
}

func (l *sessionLease) lastBeat(ctx context.Context) (heartbeat, error) {
	v, err := l.parts.leases.Get(ctx, l.key)
	if errors.Is(err, engine.ErrNotFound) {
		return heartbeat{}, nil
	}
	if err != nil {
		return heartbeat{}, fmt.Errorf("session %s: lease: %w", l.key, err)
	}
	return heartbeat{v, readClaim(v.Data)}, nil
}

// ask judges the holder of a readable claim.
func (l *sessionLease) ask(ctx context.Context, c *claim, last heartbeat, now *state) (lease.Verdict, error) {
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

// youngest returns the age of the later of two heartbeats; the zero time means no heartbeat. A time
// in the future counts only if there is no other, because it means that the clock was set back.
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

// stamp writes a heartbeat on behalf of another holder. It is called if the clock was set back, so
// that the last heartbeat is in the future: the engine gives the new one its present time. If the
// holder lives, its next heartbeat does the same.
func (l *sessionLease) stamp(ctx context.Context, c *claim, revision uint64) error {
	data, err := json.Marshal(c)
	if err == nil {
		_, err = l.parts.leases.Update(ctx, l.key, data, revision)
	}
	if err != nil && !beatChanged(err) {
		return fmt.Errorf("session %s: lease: %w", l.key, err)
	}
	return nil
}

// keep starts the goroutine that renews the lease until release.
func (l *sessionLease) keep() {
	ctx, stop := context.WithCancel(context.Background())
	l.stop, l.done = stop, make(chan struct{})
	go l.renewing(ctx)
}

func (l *sessionLease) renewing(ctx context.Context) {
	defer close(l.done)
	until := time.Now().Add(l.ttl) // for the engine the lease ends a little earlier, because it wrote the claim before this line
	for {
		if pause.For(ctx, l.ttl/3) != nil {
			return
		}
		start := time.Now()
		// If the process was stopped for longer than the lease lasts, the time in until is past.
		// The process still gets time to check who holds the session.
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

// renewBy tries to renew until a deadline. It stops earlier if another turn has the session.
func (l *sessionLease) renewBy(ctx context.Context, deadline time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	var why error // the last error that is more than a timeout
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

// renew writes a heartbeat if the session is still ours. If another turn takes the session at that
// moment, the heartbeat does no harm: it has our token, and a process that judges another claim
// ignores it.
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

// release stops the renewing, and deletes our heartbeat if it is still there. The claim itself ends
// with the last entry of the turn.
func (l *sessionLease) release(ctx context.Context) error {
	if l.stop != nil {
		l.stop()
		<-l.done
	}
	if l.revision == 0 {
		return nil
	}
	if err := l.parts.leases.DeleteAt(ctx, l.key, l.revision); err != nil && !beatChanged(err) {
		return fmt.Errorf("session %s: lease: %w", l.key, err)
	}
	return nil
}

// checkHeld checks whether the turn may still write to the transcript.
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
	if k.Sequence <= known || k.Turn == t.id { // we know the entry, or this turn is just writing it
		return nil
	}
	return t.overtaker(ctx)
}

// overtaker returns a [session.BusyError] that names who has taken the session over.
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

// abandoned holds the tokens of claims that this store gave up but could not end.
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

// beatChanged reports whether an error means that the heartbeat in the bucket has changed, or may
// have.
func beatChanged(err error) bool {
	return errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrUncertain)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
