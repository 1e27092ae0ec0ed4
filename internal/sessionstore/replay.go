package sessionstore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// replay reads a conversation without the sequence numbers and times of its entries, except those
// of the last one. This takes a fraction of the time. It returns nil if a turn is open, because it
// cannot tell where that turn began. It also returns nil if there is another compaction than the
// one that the last entry names, if another process is writing, and if an entry is broken. The
// caller must then read the conversation with the numbers.
func (p *parts) replay(ctx context.Context, id string, last *kept) (*state, error) {
	if last.Status == "" || last.Status == session.Began { // a turn is open
		return nil, nil
	}
	contents, end, err := p.transcripts.Contents(ctx, id, last.from())
	if err != nil {
		return nil, fmt.Errorf("transcript of %.64q: %w", id, err)
	}
	if end != last.Sequence { // another process is writing
		return nil, nil
	}
	now := &state{messages: make([]model.Message, 0, len(contents))}
	for i, data := range contents[:len(contents)-1] {
		k, err := decodeSaid(data)
		if err != nil || (k.Compaction != nil) != (i == 0 && last.base > 0) {
			return nil, nil
		}
		if k.Compaction != nil {
			k.Sequence, now.replies = last.base, last.earlier
		}
		now.add(k)
	}
	now.add(last)
	return now, nil
}

// decodeSaid decodes only those parts of an entry that belong to the conversation.
func decodeSaid(data []byte) (*kept, error) {
	k := &kept{}
	if !k.plain(data) {
		var l struct {
			Message    *model.Message      `json:"message"`
			Compaction *session.Compaction `json:"compaction"`
			Status     session.Status      `json:"status"`
		}
		if err := json.Unmarshal(data, &l); err != nil {
			return nil, err
		}
		k.Entry = session.Entry{Message: l.Message, Compaction: l.Compaction, Status: l.Status}
	}
	return k, check(&k.Entry)
}

// plain decodes a common entry: a message with only role and text, or a status. It returns false
// for other entries. encoding/json decodes those, and takes several times as long.
func (k *kept) plain(data []byte) bool {
	k.Entry = session.Entry{}
	fields := rawjson.Fields(data, 0)
	for fields.Next() {
		ok := true
		value := data[fields.Value.Start:fields.Value.End]
		switch fields.Name {
		case "turn", "time", "claim", "base", "earlier", "open", "turns":
		case "message":
			if ok = k.Message == nil; ok {
				k.Message, ok = plainMessage(value)
			}
		case "status":
			ok = k.Status == "" && text(value, (*string)(&k.Status))
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return fields.Err == nil && fields.End == len(data)
}

func plainMessage(data []byte) (*model.Message, bool) {
	m := &model.Message{}
	fields := rawjson.Fields(data, 0)
	for fields.Next() {
		ok := false
		value := data[fields.Value.Start:fields.Value.End]
		switch fields.Name {
		case "role":
			ok = m.Role == "" && text(value, (*string)(&m.Role))
		case "content":
			ok = m.Content == "" && text(value, &m.Content)
		}
		if !ok {
			return nil, false
		}
	}
	return m, fields.Err == nil
}

func text(value []byte, into *string) (ok bool) {
	*into, ok = rawjson.Unquote(value)
	return ok
}
