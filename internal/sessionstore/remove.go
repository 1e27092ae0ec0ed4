package sessionstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/lease"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// openBucket has a key for each conversation that a process has open, with or without a turn: the
// session's id, a slash, and a random word.
const openBucket = "session_open"

// Open marks the session as open in this process, until release is called or the process ends.
// [Store.Remove] does not delete such a session. Several processes may have it open at once;
// [Store.Begin] keeps their turns apart.
func (s *Store) Open(ctx context.Context, id string) (release func(context.Context) error, err error) {
	bucket, err := s.openings(ctx)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(s.Holder)
	if err != nil {
		return nil, fmt.Errorf("session %.64q: %w", id, err)
	}
	key := id + "/" + rand.Text()
	if _, err := bucket.Put(ctx, key, data); err != nil {
		return nil, fmt.Errorf("session %.64q: %w", id, err)
	}
	return func(ctx context.Context) error { return bucket.Delete(ctx, key) }, nil
}

func (s *Store) openings(ctx context.Context) (engine.Bucket, error) {
	bucket, err := s.engine.Bucket(ctx, engine.BucketConfig{Name: openBucket})
	if err != nil {
		return nil, fmt.Errorf("open sessions: %w", err)
	}
	return bucket, nil
}

// Remove deletes a session that is not in use. It returns a [session.BusyError] if a turn is
// running, or if a process on this machine has the session open. Unlike [Store.Delete] it holds the
// session meanwhile, so that no turn begins.
func (s *Store) Remove(ctx context.Context, id string) error {
	if err := s.checkNotOpen(ctx, id); err != nil {
		return err
	}
	t, err := s.Begin(ctx, id, BeginOptions{})
	if err != nil {
		return err
	}
	if err := s.Delete(ctx, id); err != nil {
		return errors.Join(err, t.End(ctx, session.Interrupted))
	}
	t.close(ErrEnded)
	return t.lease.release(ctx)
}

// checkNotOpen returns a [session.BusyError] if a living process has the session open. It deletes
// all other marks: those of dead processes, and those of processes on other machines, because it
// cannot find out whether these live. The turn of such a process still prevents the removal.
func (s *Store) checkNotOpen(ctx context.Context, id string) error {
	if !validID(id) {
		return notFound(id)
	}
	bucket, err := s.openings(ctx)
	if err != nil {
		return err
	}
	values, err := bucket.Values(ctx, id+"/")
	if err != nil {
		return fmt.Errorf("open sessions: %w", err)
	}
	for _, v := range values {
		var h lease.Holder
		if json.Unmarshal(v.Data, &h) == nil && h.State() == lease.Alive {
			return &session.BusyError{Session: id, Owner: h.Name, Open: true}
		}
		if err := bucket.Delete(ctx, v.Key); err != nil {
			return fmt.Errorf("open sessions: %w", err)
		}
	}
	return nil
}
