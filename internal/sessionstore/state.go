package sessionstore

import (
	"time"

	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// A state is a conversation as its transcript has it, up to some entry. What is added to the
// transcript is added to the state, so that nobody reads again what was read before.
//
// Its messages are shared with those who asked for them. So a message that is in the list is never
// changed, and one owner alone, a turn or the store's cache, adds to the list.
type state struct {
	last uint64    // sequence number of the last entry; 0: there is none
	at   time.Time // when the engine wrote it; zero: this process did, and was not told
	turn string    // of the last entry
	open *openTurn // the turn that has begun and not ended; nil: none

	messages       []model.Message // as they stand
	currentReplies int             // how many of them are replies of the model's
	replies        int             // replies in all: compactions do not take them back
	base           uint64          // the entry that is the last compaction; 0: there was none
	earlier        int             // replies in all before that
	turns          int             // that have begun, in all
	bytes          int             // about what the messages take in memory
}

// An openTurn is a turn that has begun, and where.
type openTurn struct {
	id    string
	began uint64 // the sequence number of its first entry
	claim *claim // who runs it; nil: it does not say, as those of earlier versions
}

// add plays one more entry.
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

// replace puts the messages of a compaction in the place of those that were there.
func (s *state) replace(messages []model.Message, at uint64) {
	s.base, s.earlier = at, s.replies
	s.messages, s.currentReplies, s.bytes = clone(messages), 0, 0
	for i := range s.messages {
		s.count(&s.messages[i])
	}
}

// frameBytes is about what a message takes beside its texts.
const frameBytes = 160

func messageBytes(m *model.Message) int {
	n := frameBytes + len(m.Content)
	for _, c := range m.ToolCalls {
		n += frameBytes + len(c.Arguments)
	}
	return n
}

// said are the messages for those who only read them: what is added later is not in the list they
// have.
func (s *state) said() []model.Message { return s.messages[:len(s.messages):len(s.messages)] }

// repairs is what to add to a transcript so that a new turn can begin: results for the tool calls
// that have none, which no model would accept otherwise, and an end for the turn that has none.
// Done half, it is the other half the next time.
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
