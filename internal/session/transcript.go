package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/model"
)

// Transcript returns all entries of a session, oldest first. It is one question to the engine, however many there are.
func (s *Store) Transcript(ctx context.Context, id string) ([]Entry, error) {
	p, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	if id == "" { // which would be every topic
		return nil, notFound(id)
	}
	entries, err := p.read(ctx, id)
	if err == nil && len(entries) == 0 { // nothing was said, or there is no such session
		_, err = s.Get(ctx, id)
	}
	return entries, err
}

// Messages returns the conversation as it stands: compactions applied.
func (s *Store) Messages(ctx context.Context, id string) ([]model.Message, error) {
	entries, err := s.Transcript(ctx, id)
	if err != nil {
		return nil, err
	}
	return fold(entries), nil
}

func (p *parts) read(ctx context.Context, id string) ([]Entry, error) {
	records, err := p.transcripts.Read(ctx, id, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("transcript of %.64q: %w", id, err)
	}
	entries := make([]Entry, len(records))
	for i, r := range records {
		if entries[i], err = decode(r); err != nil {
			return nil, fmt.Errorf("transcript of %.64q: %w", id, err)
		}
	}
	return entries, nil
}

// fold plays a transcript: messages add up, and a compaction replaces what came before it.
func fold(entries []Entry) []model.Message {
	messages := make([]model.Message, 0, len(entries))
	for _, e := range entries {
		messages = e.apply(messages)
	}
	return messages
}

// apply adds what an entry has to a conversation.
func (e *Entry) apply(messages []model.Message) []model.Message {
	switch {
	case e.Message != nil:
		return append(messages, *e.Message)
	case e.Compaction != nil:
		return slices.Clone(e.Compaction.Messages)
	}
	return messages
}

// replies is 1 for an entry that is a reply of the model's.
func (e *Entry) replies() int {
	if e.Message != nil && e.Message.Role == model.Assistant {
		return 1
	}
	return 0
}

// A line is an entry as it is kept. The sequence number is not in it: the engine gives it.
type line struct {
	Turn       string         `json:"turn"`
	Time       time.Time      `json:"time"`
	Message    *model.Message `json:"message,omitempty"`
	Compaction *Compaction    `json:"compaction,omitempty"`
	Status     Status         `json:"status,omitempty"`
}

func encode(e Entry) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // code is full of < and &, which would take six bytes each
	err := enc.Encode(line{Turn: e.Turn, Time: e.Time, Message: e.Message, Compaction: e.Compaction, Status: e.Status})
	if err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

func decode(r engine.Record) (Entry, error) {
	var l line
	if err := json.Unmarshal(r.Data, &l); err != nil {
		return Entry{}, fmt.Errorf("entry %d is broken: %w", r.Sequence, err)
	}
	e := Entry{Sequence: r.Sequence, Time: l.Time, Turn: l.Turn, Message: l.Message, Compaction: l.Compaction, Status: l.Status}
	if err := e.check(); err != nil {
		return Entry{}, fmt.Errorf("entry %d is broken: %w", r.Sequence, err)
	}
	return e, nil
}

// check holds an entry against what an entry can be: what is kept may have been written by another version.
func (e *Entry) check() error {
	set := 0
	for _, there := range []bool{e.Message != nil, e.Compaction != nil, e.Status != ""} {
		if there {
			set++
		}
	}
	switch {
	case set != 1:
		return fmt.Errorf("it has %d of message, compaction and status, not one", set)
	case e.Message != nil:
		return checkRole(e.Message.Role)
	case e.Compaction != nil:
		return checkCompaction(e.Compaction)
	}
	return checkStatus(e.Status)
}

func checkCompaction(c *Compaction) error {
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

func checkStatus(s Status) error {
	switch s {
	case Began, Done, Failed, Skipped, Interrupted:
		return nil
	}
	return fmt.Errorf("no such status: %.32q", s)
}

// clone copies messages so deeply that nothing is shared.
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
