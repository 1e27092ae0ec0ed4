package sessionstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/session"
)

// lookBack is how many of a directory's newest sessions [Store.Last] compares to find the one that
// was used last. Each needs one request to the engine.
const lookBack = 50

// lookFar limits how many sessions of all directories are read to find the sessions of one
// directory. The search goes on beyond the limit until it has found one.
const lookFar = 1000

// An AmbiguousError reports that several session ids begin with the given prefix.
type AmbiguousError struct {
	Prefix string
	IDs    []string
}

func (e *AmbiguousError) Error() string {
	const enough = 3
	shown := strings.Join(e.IDs[:min(enough, len(e.IDs))], ", ")
	if len(e.IDs) > enough {
		shown += ", …"
	}
	return fmt.Sprintf("%.64q is the beginning of %d sessions (%s): give more of the id", e.Prefix, len(e.IDs), shown)
}

// List returns all sessions, the newest first.
func (s *Store) List(ctx context.Context) ([]session.Session, error) {
	p, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	return p.list(ctx)
}

func (p *parts) list(ctx context.Context) ([]session.Session, error) {
	values, err := p.records.Values(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	list := make([]session.Session, 0, len(values))
	for _, v := range values {
		found, err := decodeSession(v)
		if err != nil {
			return nil, err
		}
		list = append(list, found)
	}
	slices.SortFunc(list, newestFirst)
	return list, nil
}

func newestFirst(a, b session.Session) int {
	if order := b.CreatedAt.Compare(a.CreatedAt); order != 0 {
		return order
	}
	return strings.Compare(b.ID, a.ID)
}

// Last returns the session of a working directory that was used last; "" means any directory. It
// returns [session.ErrNotFound] if there is none. A session without messages counts as older than
// all others. Sessions of other agents are left out, because they cannot be continued here.
func (s *Store) Last(ctx context.Context, workingDir string) (session.Session, error) {
	p, err := s.open(ctx)
	if err != nil {
		return session.Session{}, err
	}
	list, err := p.newestIn(ctx, workingDir)
	if err != nil {
		return session.Session{}, err
	}
	if len(list) == 0 {
		return session.Session{}, fmt.Errorf("%w: none in %q", session.ErrNotFound, workingDir)
	}
	var last session.Session
	var used uint64
	for i, c := range list {
		// Sequence numbers belong to the whole stream. The larger one was written later, also in
		// another session.
		sequence, err := p.transcripts.Last(ctx, c.ID)
		if err != nil {
			return session.Session{}, fmt.Errorf("session %s: %w", c.ID, err)
		}
		if i == 0 || sequence > used {
			last, used = c, sequence
		}
	}
	return last, nil
}

// newestIn returns the newest sessions of a directory, at most lookBack. After it has found one, it
// searches no further than lookFar.
func (p *parts) newestIn(ctx context.Context, workingDir string) ([]session.Session, error) {
	if err := p.order.ensureBuilt(ctx); err != nil {
		return nil, err
	}
	var list []session.Session
	var at *place
	for seen := 0; len(list) == 0 || len(list) < lookBack && seen < lookFar; {
		places, end, err := p.order.nextPlaces(ctx, at, lookBack+seen) // each time twice as many
		if err != nil {
			return nil, err
		}
		if seen += len(places); len(places) > 0 {
			at = &places[len(places)-1]
		}
		found, err := p.sessionsAt(ctx, slices.DeleteFunc(slices.Clone(places), func(c place) bool {
			return session.IsHost(c.id) || workingDir != "" && !session.SameDir(c.WorkingDir, workingDir)
		}))
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			list = append(list, f.session)
		}
		if end {
			break
		}
	}
	return list[:min(lookBack, len(list))], nil
}

// Find returns the session with an id, or the only session whose id begins with the text, with or
// without the prefix ses_. It returns an [AmbiguousError] for several sessions, and
// [session.ErrNotFound] for none.
func (s *Store) Find(ctx context.Context, idOrPrefix string) (session.Session, error) {
	p, err := s.open(ctx)
	if err != nil {
		return session.Session{}, err
	}
	found, _, err := p.get(ctx, idOrPrefix)
	if !errors.Is(err, session.ErrNotFound) {
		return found, err
	}
	digits := strings.TrimPrefix(idOrPrefix, session.Prefix)
	if digits == "" {
		return session.Session{}, notFound(idOrPrefix)
	}
	ids, err := p.records.Keys(ctx, session.Prefix+digits)
	switch {
	case err != nil:
		return session.Session{}, fmt.Errorf("sessions: %w", err)
	case len(ids) == 0:
		return session.Session{}, notFound(idOrPrefix)
	case len(ids) > 1:
		return session.Session{}, &AmbiguousError{Prefix: idOrPrefix, IDs: ids}
	}
	return s.Get(ctx, ids[0])
}
