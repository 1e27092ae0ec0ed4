package sessionstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// Transcript returns all entries of a session, the oldest first. It makes one request to the engine
// for any number of entries.
func (s *Store) Transcript(ctx context.Context, id string) ([]session.Entry, error) {
	p, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	if !validID(id) {
		return nil, notFound(id)
	}
	entries, err := p.read(ctx, id)
	if err == nil && len(entries) == 0 { // the session is empty, or does not exist
		_, err = s.Get(ctx, id)
	}
	return entries, err
}

// Messages returns the conversation with compactions applied. It reads only from the last
// compaction on, and the next turn of this store does not read that again. The caller must not
// change the list.
func (s *Store) Messages(ctx context.Context, id string) ([]model.Message, error) {
	p, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	if !validID(id) {
		return nil, notFound(id)
	}
	now, err := p.load(ctx, id)
	if err != nil {
		return nil, err
	}
	if now.last == 0 { // the session is empty, or does not exist
		_, err = s.Get(ctx, id)
		return []model.Message{}, err
	}
	messages := now.messageList()
	if now.open == nil { // an open turn may belong to another process, which can add entries
		p.tails.put(id, now)
	}
	return messages, nil
}

// load reads a conversation from its last compaction on, which the newest entry names. If a turn is
// open that began before the compaction, load reads from the beginning of that turn.
func (p *parts) load(ctx context.Context, id string) (*state, error) {
	return p.advance(ctx, id, &state{})
}

// advance adds the new entries of the transcript to a conversation. It returns another conversation
// if the transcript was deleted and written again.
func (p *parts) advance(ctx context.Context, id string, now *state) (*state, error) {
	newest, err := p.transcripts.Newest(ctx, id)
	if errors.Is(err, engine.ErrNotFound) {
		return &state{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("transcript of %.64q: %w", id, err)
	}
	last, err := decodeKept(newest)
	if err != nil {
		return nil, fmt.Errorf("transcript of %.64q: %w", id, err)
	}
	switch {
	case newest.Sequence == now.last:
		return now, nil
	case newest.Sequence < now.last:
		now = &state{}
	}
	if now.last == 0 {
		if all, err := p.replay(ctx, id, last); all != nil || err != nil {
			return all, err
		}
	}
	return now, p.play(ctx, id, now, last)
}

// play reads the entries that a state lacks, and adds them. last is the newest of them.
func (p *parts) play(ctx context.Context, id string, now *state, last *kept) error {
	records, err := p.transcripts.Read(ctx, id, max(last.from(), now.last), 0)
	if err != nil {
		return fmt.Errorf("transcript of %.64q: %w", id, err)
	}
	for _, r := range records {
		k, err := decodeKept(r)
		if err != nil {
			return fmt.Errorf("transcript of %.64q: %w", id, err)
		}
		if k.Sequence == last.base { // the replies before it were not counted, or not all
			now.replies = last.earlier
		}
		now.add(k)
	}
	return nil
}

func (p *parts) read(ctx context.Context, id string) ([]session.Entry, error) {
	records, err := p.transcripts.Read(ctx, id, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("transcript of %.64q: %w", id, err)
	}
	entries := make([]session.Entry, len(records))
	for i, r := range records {
		if entries[i], err = decode(r); err != nil {
			return nil, fmt.Errorf("transcript of %.64q: %w", id, err)
		}
	}
	return entries, nil
}

// replies returns 1 for a reply of the model, and 0 for other entries.
func replies(e *session.Entry) int {
	if e.Message != nil && e.Message.Role == model.Assistant {
		return 1
	}
	return 0
}

// A line is the stored form of an entry. The engine adds the sequence number. The newest line says
// where a reader must begin. If an earlier version wrote that line, it does not say so, and the
// reader begins at the first line.
type line struct {
	Turn       string              `json:"turn"`
	Time       time.Time           `json:"time"`
	Message    *model.Message      `json:"message,omitempty"`
	Compaction *session.Compaction `json:"compaction,omitempty"`
	Status     session.Status      `json:"status,omitempty"`
	Claim      json.RawMessage     `json:"claim,omitempty"`   // of an entry that says [session.Began]
	Base       uint64              `json:"base,omitempty"`    // the last compaction before it
	Earlier    int                 `json:"earlier,omitempty"` // replies of the model before that
	Open       uint64              `json:"open,omitempty"`    // where the running turn began
	Turns      int                 `json:"turns,omitempty"`   // how many turns have begun, with this one
}

// A kept is an entry with the other fields of its line.
type kept struct {
	session.Entry
	at      time.Time // when the engine wrote it
	claim   *claim    // nil: none
	base    uint64
	earlier int
	open    uint64
	turns   int // 0: written by an earlier version
}

// from returns the sequence number after which to read if k is the newest entry.
func (k *kept) from() uint64 {
	first := k.base
	if k.open != 0 {
		first = min(first, k.open)
	}
	return max(first, 1) - 1
}

// encode encodes an entry that follows those of the state.
func (s *state) encode(e session.Entry, claim json.RawMessage) ([]byte, error) {
	l := line{Turn: e.Turn, Time: e.Time, Message: e.Message, Compaction: e.Compaction, Status: e.Status,
		Claim: claim, Base: s.base, Earlier: s.earlier, Turns: s.turns}
	if e.Status == session.Began {
		l.Turns++
	}
	if s.open != nil && e.Status == "" {
		l.Open = s.open.began
	}
	return rawjson.Marshal(l) // code contains many < and &, whose escapes take six bytes each
}

func decode(r engine.Record) (session.Entry, error) {
	k, err := decodeKept(r)
	if err != nil {
		return session.Entry{}, err
	}
	return k.Entry, nil
}

func decodeKept(r engine.Record) (*kept, error) {
	var l line
	if err := json.Unmarshal(r.Data, &l); err != nil {
		return nil, fmt.Errorf("entry %d is broken: %w", r.Sequence, err)
	}
	k := &kept{at: r.Time, turns: max(l.Turns, 0)}
	if l.Base < r.Sequence && l.Open < r.Sequence { // otherwise the line is damaged, and reading starts at the beginning
		k.base, k.earlier, k.open = l.Base, max(l.Earlier, 0), l.Open
	}
	k.Entry = session.Entry{Sequence: r.Sequence, Time: l.Time, Turn: l.Turn, Message: l.Message, Compaction: l.Compaction, Status: l.Status}
	if err := check(&k.Entry); err != nil {
		return nil, fmt.Errorf("entry %d is broken: %w", r.Sequence, err)
	}
	if l.Claim != nil {
		k.claim = readClaim(l.Claim)
	}
	return k, nil
}

// check checks that an entry is valid. Another version may have written it.
func check(e *session.Entry) error {
	set := 0
	for _, there := range []bool{e.Message != nil, e.Compaction != nil, e.Status != ""} {
		if there {
			set++
		}
	}
	switch {
	case set != 1:
		return fmt.Errorf("it has %d of message, compaction and status instead of one", set)
	case e.Message != nil:
		return checkRole(e.Message.Role)
	case e.Compaction != nil:
		return checkCompaction(e.Compaction)
	}
	return checkStatus(e.Status)
}

func checkCompaction(c *session.Compaction) error {
	for _, m := range c.Messages {
		if err := checkRole(m.Role); err != nil {
			return err
		}
	}
	return nil
}

func checkRole(r model.Role) error {
	switch r {
	case model.System, model.User, model.Assistant, model.ToolRole:
		return nil
	}
	return fmt.Errorf("no such role: %.32q", r)
}

func checkStatus(s session.Status) error {
	switch s {
	case session.Began, session.Done, session.Failed, session.Skipped, session.Interrupted:
		return nil
	}
	return fmt.Errorf("no such status: %.32q", s)
}

// checkEnd returns an error if a status is not the end of a turn.
func checkEnd(s session.Status) error {
	if s == session.Began {
		return fmt.Errorf("a turn does not end as %q", s)
	}
	return checkStatus(s)
}

// clone makes a deep copy of messages.
func clone(messages []model.Message) []model.Message {
	out := slices.Clone(messages)
	for i, m := range out {
		out[i].ToolCalls = slices.Clone(m.ToolCalls)
		for j, c := range m.ToolCalls {
			out[i].ToolCalls[j].Arguments = slices.Clone(c.Arguments)
		}
	}
	return out
}
