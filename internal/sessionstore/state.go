package sessionstore

import (
	"time"

	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// A state is a conversation up to some entry of its transcript. New entries are added to the state,
// so that nothing is read twice.
//
// Its messages are shared with callers. So a message in the list is never changed, and only one
// owner, a turn or the store's cache, adds to the list.
type state struct {
	last uint64    // sequence number of the last entry; 0: there is none
	at   time.Time // when the engine wrote it; zero: this process wrote it and does not know
	turn string    // of the last entry
	open *openTurn // the turn that has begun and not ended; nil: none

	messages       []model.Message // the messages after compactions
	currentReplies int             // how many of them are replies of the model
	replies        int             // all replies, also those before compactions
	base           uint64          // the sequence number of the last compaction; 0: there was none
	earlier        int             // all replies before that
	turns          int             // how many turns have begun
	bytes          int             // about how much memory the messages use
}

// An openTurn is a turn that has begun and not ended.
type openTurn struct {
	id    string
	began uint64 // the sequence number of its first entry
	claim *claim // who runs it; nil: an earlier version wrote the entry without a claim
}

// add adds the next entry.
func (s *state) add(k *kept) {
	s.last, s.at, s.turn = k.Sequence, k.at, k.Turn
	if k.turns > 0 {
		s.turns = k.turns
	} else if k.Status == session.Began { // written by an earlier version
		s.turns++
	}
	switch {
	case k.Message != nil:
		s.messages = append(s.messages, *k.Message)
		s.count(k.Message)
		s.replies += replies(&k.Entry)
	case k.Compaction != nil:
		s.replace(k.Compaction.Messages, k.Sequence)
	case k.Status == session.Began:
		s.open = &openTurn{id: k.Turn, began: k.Sequence, claim: k.claim}
	default:
		s.open = nil
	}
}

func (s *state) count(m *model.Message) {
	s.bytes += messageBytes(m)
	if m.Role == model.Assistant {
		s.currentReplies++
	}
}

// replace replaces the messages by those of a compaction.
func (s *state) replace(messages []model.Message, at uint64) {
	s.base, s.earlier = at, s.replies
	s.messages, s.currentReplies, s.bytes = clone(messages), 0, 0
	for i := range s.messages {
		s.count(&s.messages[i])
	}
}

// frameBytes is about how much memory a message uses in addition to its texts.
const frameBytes = 160

func messageBytes(m *model.Message) int {
	n := frameBytes + len(m.Content)
	for _, c := range m.ToolCalls {
		n += frameBytes + len(c.Arguments)
	}
	return n
}

// messageList returns the messages for reading. Messages that are added later do not appear in the
// list.
func (s *state) messageList() []model.Message { return s.messages[:len(s.messages):len(s.messages)] }

// repairs returns the entries that must be added to a transcript before a new turn can begin: a
// result for each tool call without one, because models reject such a conversation, and an end for
// a turn without one. If only some of them are written, the next call returns the others.
func (s *state) repairs() []session.Entry {
	var add []session.Entry
	for _, call := range unanswered(s.messages) {
		add = append(add, session.Entry{Turn: s.turn, Message: &model.Message{
			Role: model.ToolRole, ToolCallID: call.ID, Name: call.Name, Content: interruptedCall, Failed: true,
		}})
	}
	if s.open != nil {
		add = append(add, session.Entry{Turn: s.open.id, Status: session.Interrupted})
	}
	return add
}
