package sessionstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/lease"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// What the engine knows the parts by.
const (
	recordBucket     = "sessions"
	leaseBucket      = "session_leases"
	transcriptStream = "transcripts"
)

// updateTries bounds the loop of [Store.Update]. Every lost try is somebody else's success: so many
// writers at once on one session are a fault, not a rush.
const updateTries = 32

// A Store keeps sessions. It is safe for concurrent use, and so are several stores on the same
// engine, in whatever process or machine.
type Store struct {
	Holder lease.Holder // this process, as leases name it. Set it before the first turn, where the process starts others
	Logger *slog.Logger // told of leases that were damaged; nil discards

	engine engine.Store
	ttl    time.Duration // of a lease

	mu     sync.Mutex // protects opened
	opened *parts     // nil: not yet
}

// parts are what a store is made of in the engine.
type parts struct {
	records     engine.Bucket // sessions by id
	leases      engine.Bucket // signs of life of turns under way, by session id
	transcripts engine.Stream // entries; a session's id is its topic
	order       *order        // of the sessions by time
	judge       *lease.Judge  // of claims that others hold
	abandoned   *abandoned    // claims of our own whose end could not be written
	tails       *tails        // conversations that were read or written here
}

// New makes a store. It does no I/O: buckets and streams are opened by the first method that needs
// them.
func New(e engine.Store) *Store { return &Store{Holder: lease.Self(), engine: e, ttl: leaseTTL} }

// open returns the parts, opened once. What could not be opened is tried again the next time.
func (s *Store) open(ctx context.Context) (*parts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened != nil {
		return s.opened, nil
	}
	p := &parts{judge: &lease.Judge{TTL: s.ttl}, abandoned: &abandoned{}, tails: &tails{}}
	var err error
	if p.records, err = s.engine.Bucket(ctx, engine.BucketConfig{Name: recordBucket}); err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	// Without a TTL: no engine lets a lease go by its own clock, be it because it happens to be up
	// or because that jumps.
	if p.leases, err = s.engine.Bucket(ctx, engine.BucketConfig{Name: leaseBucket}); err != nil {
		return nil, fmt.Errorf("sessions: leases: %w", err)
	}
	if p.transcripts, err = s.engine.Stream(ctx, engine.StreamConfig{Name: transcriptStream}); err != nil {
		return nil, fmt.Errorf("sessions: transcripts: %w", err)
	}
	stream, err := s.engine.Stream(ctx, engine.StreamConfig{Name: orderStream})
	if err != nil {
		return nil, fmt.Errorf("sessions: order: %w", err)
	}
	p.order = &order{stream: stream, records: p.records}
	s.opened = p
	return p, nil
}

// Create keeps a new session. Its id and time of creation are made here, whatever they were.
func (s *Store) Create(ctx context.Context, n session.Session) (session.Session, error) {
	p, err := s.open(ctx)
	if err != nil {
		return session.Session{}, err
	}
	n.CreatedAt = time.Now().UTC()
	n.ID = session.NewID(session.Prefix, n.CreatedAt)
	return p.create(ctx, n)
}

// CreateHost keeps the session of another agent, n.Host, which has it under n.HostSession. Where it
// is kept already nothing changes, and it is returned as it stands. Several processes may do so at
// once.
func (s *Store) CreateHost(ctx context.Context, n session.Session) (session.Session, error) {
	p, err := s.open(ctx)
	if err != nil {
		return session.Session{}, err
	}
	n.CreatedAt = time.Now().UTC()
	n.ID = session.HostID(n.Host, n.HostSession)
	found, _, err := p.get(ctx, n.ID)
	if !errors.Is(err, session.ErrNotFound) {
		return found, err
	}
	created, err := p.create(ctx, n)
	if errors.Is(err, engine.ErrExists) || errors.Is(err, engine.ErrUncertain) {
		created, _, err = p.get(ctx, n.ID)
	}
	return created, err
}

// create keeps a session that has its id.
func (p *parts) create(ctx context.Context, n session.Session) (session.Session, error) {
	data, err := encodeSession(&n)
	if err != nil {
		return session.Session{}, err
	}
	if err := p.order.ensureBuilt(ctx); err != nil {
		return session.Session{}, err
	}
	if err := p.order.add(ctx, place{id: n.ID, CreatedAt: n.CreatedAt, WorkingDir: n.WorkingDir}); err != nil {
		return session.Session{}, fmt.Errorf("session %s: %w", n.ID, err)
	}
	if _, err := p.records.Create(ctx, n.ID, data); err != nil {
		return session.Session{}, fmt.Errorf("session %s: %w", n.ID, err)
	}
	return n, nil
}

// Get returns a session, or [ErrNotFound].
func (s *Store) Get(ctx context.Context, id string) (session.Session, error) {
	p, err := s.open(ctx)
	if err != nil {
		return session.Session{}, err
	}
	found, _, err := p.get(ctx, id)
	return found, err
}

// get also returns the record as it is kept, for a compare-and-set.
func (p *parts) get(ctx context.Context, id string) (session.Session, engine.Value, error) {
	if !validID(id) {
		return session.Session{}, engine.Value{}, notFound(id)
	}
	v, err := p.records.Get(ctx, id)
	if errors.Is(err, engine.ErrNotFound) {
		return session.Session{}, engine.Value{}, notFound(id)
	}
	if err != nil {
		return session.Session{}, engine.Value{}, fmt.Errorf("session %.64q: %w", id, err)
	}
	found, err := decodeSession(v)
	return found, v, err
}

// Update changes a session: f is given it as it stands and changes what it likes, but for the id
// and the time of creation, which stay. When somebody else changed the session meanwhile, f is
// called again, and may even find its own change there: it should set rather than add. Its error
// ends the update.
func (s *Store) Update(ctx context.Context, id string, f func(*session.Session) error) (session.Session, error) {
	p, err := s.open(ctx)
	if err != nil {
		return session.Session{}, err
	}
	for range updateTries {
		updated, err := p.tryUpdate(ctx, id, f)
		if !errors.Is(err, engine.ErrConflict) && !errors.Is(err, engine.ErrUncertain) {
			return updated, err
		}
	}
	return session.Session{}, fmt.Errorf("session %s: %d times in a row it %w", id, updateTries, engine.ErrConflict)
}

// tryUpdate returns [engine.ErrConflict] where somebody else was faster.
func (p *parts) tryUpdate(ctx context.Context, id string, f func(*session.Session) error) (session.Session, error) {
	now, record, err := p.get(ctx, id)
	if err != nil {
		return session.Session{}, err
	}
	next := now
	if err := f(&next); err != nil {
		return session.Session{}, err
	}
	next.ID, next.CreatedAt = now.ID, now.CreatedAt
	data, err := encodeSession(&next)
	if err != nil {
		return session.Session{}, err
	}
	if bytes.Equal(data, record.Data) {
		return next, nil
	}
	if _, err := p.records.Update(ctx, id, data, record.Revision); err != nil {
		return session.Session{}, fmt.Errorf("session %s: %w", id, err)
	}
	return next, nil
}

// Delete forgets a session: its record, its transcript, its place in the order, and its lease,
// whereby a turn that is running is cut off. Where there is no session it returns [ErrNotFound],
// having swept up what an earlier, half done Delete may have left.
//
// The record goes first and the transcript last. [Store.Begin] looks at the record after its first
// entry: so that entry is either there to be purged, or Begin sees that the session is gone and
// purges it.
func (s *Store) Delete(ctx context.Context, id string) error {
	p, err := s.open(ctx)
	if err != nil {
		return err
	}
	_, _, missing := p.get(ctx, id)
	if missing != nil && (!validID(id) || !errors.Is(missing, session.ErrNotFound)) {
		return missing
	}
	p.tails.take(id)
	for _, remove := range []func(context.Context, string) error{p.records.Delete, p.leases.Delete, p.transcripts.Purge, p.order.stream.Purge} {
		if err := remove(ctx, id); err != nil {
			return fmt.Errorf("delete session %.64q: %w", id, err)
		}
	}
	return missing
}

// validID tells whether an id can be a session's. The empty one is no key, and as a topic it means
// every session. No id has a byte 0 either, so that none can mean others.
func validID(id string) bool { return id != "" && !strings.ContainsRune(id, 0) }

func notFound(id string) error { return fmt.Errorf("%w: %.64q", session.ErrNotFound, id) }

// encodeSession also sees to it that the plugins are a list, be it an empty one, as whoever reads
// the JSON expects.
func encodeSession(s *session.Session) ([]byte, error) {
	if s.Plugins == nil {
		s.Plugins = []string{}
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", s.ID, err)
	}
	return data, nil
}

func decodeSession(v engine.Value) (session.Session, error) {
	var s session.Session
	if err := json.Unmarshal(v.Data, &s); err != nil {
		return session.Session{}, fmt.Errorf("session %.64q: its record is broken: %w", v.Key, err)
	}
	if s.ID != v.Key {
		return session.Session{}, fmt.Errorf("session %.64q: its record is that of %.64q", v.Key, s.ID)
	}
	if s.Plugins == nil {
		s.Plugins = []string{}
	}
	return s, nil
}
