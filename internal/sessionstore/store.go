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

// The names of buckets and streams in the engine.
const (
	recordBucket     = "sessions"
	leaseBucket      = "session_leases"
	transcriptStream = "transcripts"
)

// updateTries limits the loop of [Store.Update]. Each failed try means that another writer
// succeeded; so many writers on one session are an error.
const updateTries = 32

// A Store stores sessions. It is safe for concurrent use, and so are several stores on the same
// engine, in any process or machine.
type Store struct {
	Holder lease.Holder // this process, as leases name it. A process that starts others sets it before the first turn
	Logger *slog.Logger // logs damaged leases; nil discards

	engine engine.Store
	ttl    time.Duration // of a lease

	mu     sync.Mutex // protects opened
	opened *parts     // nil: not opened yet
}

// parts are the buckets, streams and caches of a store.
type parts struct {
	records     engine.Bucket // sessions by id
	leases      engine.Bucket // heartbeats of running turns, by session id
	transcripts engine.Stream // entries; the topic is the session's id
	order       *order        // the sessions by time
	judge       *lease.Judge  // decides about claims of others
	abandoned   *abandoned    // our own claims whose end could not be written
	tails       *tails        // conversations that were read or written before
}

// New makes a store. It does no I/O: the first method that needs buckets and streams opens them.
func New(e engine.Store) *Store { return &Store{Holder: lease.Self(), engine: e, ttl: leaseTTL} }

// open returns the parts, and opens them once. If that fails, the next call tries again.
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
	// Without a TTL: the engine must not delete a lease by its own clock, which may be wrong or
	// jump.
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

// Create stores a new session. It sets id and creation time.
func (s *Store) Create(ctx context.Context, n session.Session) (session.Session, error) {
	p, err := s.open(ctx)
	if err != nil {
		return session.Session{}, err
	}
	n.CreatedAt = time.Now().UTC()
	n.ID = session.NewID(session.Prefix, n.CreatedAt)
	return p.create(ctx, n)
}

// CreateHost stores a session of another agent, n.Host, whose own id for it is n.HostSession. If it
// is already stored, CreateHost changes nothing and returns the stored session. Several processes
// may call it at once.
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

// create stores a session that has its id.
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

// Get returns a session, or [session.ErrNotFound].
func (s *Store) Get(ctx context.Context, id string) (session.Session, error) {
	p, err := s.open(ctx)
	if err != nil {
		return session.Session{}, err
	}
	found, _, err := p.get(ctx, id)
	return found, err
}

// get also returns the stored record, for a compare-and-set.
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

// Update changes a session. It calls f with the current session, and f may change everything but id
// and creation time. If another process changed the session meanwhile, Update calls f again. f may
// then even see its own change, so it should set values and not add to them. An error of f ends the
// update.
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

// tryUpdate returns [engine.ErrConflict] if another writer was faster.
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

// Delete deletes a session: its record, its lease, its transcript and its place in the order. This
// cuts off a running turn. If there is no such session, Delete returns [session.ErrNotFound], after
// deleting the remains of an earlier Delete that was interrupted.
//
// The record is deleted first and the transcript later. [Store.Begin] reads the record after its
// first entry. So either Delete finds that entry, or Begin notices that the session is gone and
// deletes the entry itself.
func (s *Store) Delete(ctx context.Context, id string) error {
	p, err := s.open(ctx)
	if err != nil {
		return err
	}
	_, _, missing := p.get(ctx, id)
	if missing != nil && (!validID(id) || !errors.Is(missing, session.ErrNotFound)) {
		return missing
	}
	if err := s.engine.Writable(); err != nil { // else a transcript could stay without its session, and could not be deleted any more
		return fmt.Errorf("delete session %.64q: %w", id, err)
	}
	p.tails.take(id)
	for _, remove := range []func(context.Context, string) error{p.records.Delete, p.leases.Delete, p.transcripts.Purge, p.order.stream.Purge} {
		if err := remove(ctx, id); err != nil {
			return fmt.Errorf("delete session %.64q: %w", id, err)
		}
	}
	return missing
}

// validID reports whether an id can belong to a session. The empty id is not a key, and as a topic
// it means every session. An id has no byte 0 either, which would make it a wildcard.
func validID(id string) bool { return id != "" && !strings.ContainsRune(id, 0) }

func notFound(id string) error { return fmt.Errorf("%w: %.64q", session.ErrNotFound, id) }

// encodeSession encodes a session. Plugins becomes a list also if it is empty, because readers of
// the JSON expect a list.
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
		return session.Session{}, fmt.Errorf("session %.64q: the record is broken: %w", v.Key, err)
	}
	if s.ID != v.Key {
		return session.Session{}, fmt.Errorf("session %.64q: the record belongs to %.64q", v.Key, s.ID)
	}
	if s.Plugins == nil {
		s.Plugins = []string{}
	}
	return s, nil
}
