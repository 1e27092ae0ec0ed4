package sessionstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// searchPage is how many sessions are read at a time by a search.
const searchPage = 500

// Search returns the newest sessions that match a query, the newest first, and reports whether
// there are more. A session that is deleted meanwhile may be among them.
func (s *Store) Search(ctx context.Context, q session.Query) (found []session.Summary, more bool, err error) {
	if q.Limit <= 0 {
		q.Limit = session.DefaultPage
	}
	r := session.PageRequest{Limit: searchPage}
	if q.WorkingDir == "" && q.Host == "" { // most sessions match
		r.Limit = min(q.Limit+1, searchPage)
	}
	for {
		page, err := s.Page(ctx, r)
		if err != nil {
			return nil, false, err
		}
		for i := range page.Sessions {
			if !q.Wants(&page.Sessions[i]) {
				continue
			}
			if len(found) == q.Limit {
				return found, true, nil
			}
			one, err := s.Summarize(ctx, page.Sessions[i])
			if err != nil {
				return nil, false, err
			}
			if !q.Said || one.Turns > 0 {
				found = append(found, one)
			}
		}
		if r.Cursor = page.Next; r.Cursor == "" {
			return found, false, nil
		}
	}
}

// Summarize adds facts from the transcript to a session. It reads only the newest entry, unless an
// earlier version wrote that.
func (s *Store) Summarize(ctx context.Context, one session.Session) (session.Summary, error) {
	one.Host, one.From = one.Origin(), ""
	sum := session.Summary{Session: one, UsedAt: one.CreatedAt}
	p, err := s.open(ctx)
	if err != nil {
		return sum, err
	}
	newest, err := p.transcripts.Newest(ctx, one.ID)
	if errors.Is(err, engine.ErrNotFound) {
		return sum, nil
	}
	if err != nil {
		return sum, fmt.Errorf("transcript of %.64q: %w", one.ID, err)
	}
	sum.UsedAt = newest.Time
	k, err := decodeKept(newest)
	if err != nil { // opening the session returns this error; a list must not fail for it
		return sum, nil
	}
	if sum.Turns = k.turns; sum.Turns == 0 {
		sum.Turns, err = p.countTurns(ctx, one.ID)
	}
	return sum, err
}

// countTurns reads the whole transcript of a session whose newest entry does not have the number of
// turns.
func (p *parts) countTurns(ctx context.Context, id string) (int, error) {
	contents, _, err := p.transcripts.Contents(ctx, id, 0)
	if err != nil {
		return 0, fmt.Errorf("transcript of %.64q: %w", id, err)
	}
	n := 0
	for _, data := range contents {
		if k, err := decodeSaid(data); err == nil && k.Status == session.Began {
			n++
		}
	}
	return n, nil
}

// NoteTurn counts a turn of another agent's session. The agent itself stores the messages.
func (s *Store) NoteTurn(ctx context.Context, id, turn string) error {
	p, err := s.open(ctx)
	if err != nil {
		return err
	}
	for range updateTries {
		if err := p.noteTurn(ctx, id, turn); !errors.Is(err, engine.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("session %.64q: %d times in a row it %w", id, updateTries, engine.ErrConflict)
}

// noteTurn returns [engine.ErrConflict] if another process was faster.
func (p *parts) noteTurn(ctx context.Context, id, turn string) error {
	now := &state{}
	newest, err := p.transcripts.Newest(ctx, id)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return fmt.Errorf("transcript of %.64q: %w", id, err)
	}
	if err == nil {
		k, err := decodeKept(newest)
		if err != nil {
			return fmt.Errorf("transcript of %.64q: %w", id, err)
		}
		now.add(k)
	}
	if now.turn == turn {
		return nil
	}
	now.turns++
	data, err := now.encode(session.Entry{Turn: turn, Time: time.Now().UTC(), Status: session.Done}, nil)
	if err != nil {
		return fmt.Errorf("session %.64q: %w", id, err)
	}
	_, err = p.transcripts.Append(ctx, engine.Append{Topic: id, Data: data, ID: id + "." + turn, After: &now.last})
	return err
}
