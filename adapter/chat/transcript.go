package chat

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/patchbay-dev/patchbay/adapter"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// split parts a transcript into the messages that go and those that are kept: the last keep of
// them, fewer where they have more tokens than the budget (0: any number), the last round always. A
// tool's result stays with its call, and the user's last message is always kept.
func split(all []model.Message, keep, budget int) (gone, kept []model.Message) {
	start := len(all) - min(max(keep, 1), len(all))
	for start > 0 && all[start].Role == model.ToolRole {
		start--
	}
	for size := model.Estimate(all[start:]); budget > 0 && size > budget; {
		next := nextRound(all, start)
		if next == len(all) {
			break
		}
		size -= model.Estimate(all[start:next])
		start = next
	}
	user := lastUser(all)
	if user < 0 || user >= start {
		return slices.Clone(all[:start]), slices.Clone(all[start:])
	}
	gone = slices.Delete(slices.Clone(all[:start]), user, user+1)
	return gone, slices.Insert(slices.Clone(all[start:]), 0, all[user])
}

// nextRound is the next message after i that does not belong to it as a result belongs to its call;
// len(all) where there is none.
func nextRound(all []model.Message, i int) int {
	for i++; i < len(all) && all[i].Role == model.ToolRole; i++ {
	}
	return i
}

// lastUser is the index of the user's last message, -1 where there is none.
func lastUser(all []model.Message) int {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Role == model.User {
			return i
		}
	}
	return -1
}

// countSinceUser is how many messages there are from the user's last one on.
func countSinceUser(all []model.Message) int {
	if i := lastUser(all); i >= 0 {
		return len(all) - i
	}
	return 1
}

// countOpening is how many messages at the beginning are the system's.
func countOpening(messages []model.Message) int {
	i := slices.IndexFunc(messages, func(m model.Message) bool { return m.Role != model.System })
	if i < 0 {
		return len(messages)
	}
	return i
}

// repairToolCalls makes a transcript that others had a hand in fit for a model: a result without its call
// goes, and a call without its result gets one that says so.
func repairToolCalls(messages []model.Message) []model.Message {
	out := make([]model.Message, 0, len(messages))
	var open []model.ToolCall // calls of the last assistant message that have no result yet
	addMissing := func() {
		for _, c := range open {
			out = append(out, toolMessage(c, "the result is no longer there", false))
		}
		open = nil
	}
	for _, m := range messages {
		if m.Role == model.ToolRole {
			i := slices.IndexFunc(open, func(c model.ToolCall) bool { return c.ID == m.ToolCallID })
			if i >= 0 {
				open = slices.Delete(open, i, i+1)
				out = append(out, m)
			}
			continue
		}
		addMissing()
		out = append(out, m)
		open = slices.Clone(m.ToolCalls)
	}
	addMissing()
	return out
}

// withCurrent sees to it that a compactor's messages still have the user's last one in them: it is
// what the model is about to answer.
func withCurrent(all, messages []model.Message) []model.Message {
	i := lastUser(all)
	if i < 0 || slices.ContainsFunc(messages, func(m model.Message) bool { return sameMessage(m, all[i]) }) {
		return messages
	}
	return append(messages, all[i])
}

// without are the messages that are not among others.
func without(messages, others []model.Message) []model.Message {
	var out []model.Message
	for _, m := range messages {
		if !slices.ContainsFunc(others, func(o model.Message) bool { return sameMessage(m, o) }) {
			out = append(out, m)
		}
	}
	return out
}

// sameMessage tells whether two messages are one: a plugin may have left out what it does not know.
func sameMessage(a, b model.Message) bool {
	return a.Role == b.Role && a.Content == b.Content && a.ToolCallID == b.ToolCallID && len(a.ToolCalls) == len(b.ToolCalls)
}

// foreignMessage is a message as a plugin may write it.
type foreignMessage struct {
	Role       model.Role       `json:"role"`
	Content    json.RawMessage  `json:"content"`
	ToolCalls  []model.ToolCall `json:"tool_calls"`
	ToolCallID string           `json:"tool_call_id"`
	Name       string           `json:"name"`
	Failed     bool             `json:"failed"`
}

func (f *foreignMessage) message() (model.Message, error) {
	switch f.Role {
	case model.System, model.User, model.Assistant, model.ToolRole:
	default:
		return model.Message{}, fmt.Errorf("no role %.40q", f.Role)
	}
	m := model.Message{Role: f.Role, ToolCallID: f.ToolCallID, Name: f.Name, Failed: f.Failed}
	if text, ok := rawjson.Unquote(f.Content); ok {
		m.Content = text
	} else if !adapter.Missing(f.Content) {
		m.Content = string(f.Content)
	}
	if len(f.ToolCalls) > 0 {
		m.ToolCalls = wellFormed(f.ToolCalls)
	}
	return m, nil
}

// readMessages reads a compactor's list of messages.
func readMessages(raw json.RawMessage) ([]model.Message, error) {
	var list []foreignMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("no list of messages: %w", err)
	}
	out := make([]model.Message, len(list))
	for i := range list {
		var err error
		if out[i], err = list[i].message(); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
	}
	return out, nil
}

// readRetained reads the messages that plugins retain. They stand alone, so a tool's result is told
// by the system, and calls are left out.
func readRetained(raw json.RawMessage) ([]model.Message, error) {
	if adapter.Missing(raw) {
		return nil, nil
	}
	messages, err := readMessages(raw)
	if err != nil {
		return nil, err
	}
	var out []model.Message
	for _, m := range messages {
		if m.Role == model.ToolRole {
			m = model.Message{Role: model.System, Content: fmt.Sprintf("Result of tool %s:\n\n%s", m.Name, m.Content)}
		}
		m.ToolCalls = nil
		if m.Content != "" {
			out = append(out, m)
		}
	}
	return out, nil
}

// changedList is a list of messages in a payload, nil where it is still the one that was sent.
func changedList(sent []model.Message, raw json.RawMessage) json.RawMessage {
	if adapter.Missing(raw) {
		return nil
	}
	if messages, err := readMessages(raw); err == nil && slices.EqualFunc(messages, sent, sameMessage) {
		return nil
	}
	return raw
}
