package chat

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// split divides a transcript into the messages to remove and the messages that stay. The last keep
// messages stay, or fewer if they have more tokens than budget (0: any number); the last round
// always stays. A tool's result stays with its call, and the user's last message always stays.
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

// nextRound returns the index of the next message after i that is not a result of a tool call;
// len(all) if there is none.
func nextRound(all []model.Message, i int) int {
	for i++; i < len(all) && all[i].Role == model.ToolRole; i++ {
	}
	return i
}

// lastUser returns the index of the user's last message; -1 if there is none.
func lastUser(all []model.Message) int {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Role == model.User {
			return i
		}
	}
	return -1
}

// countSinceUser returns the number of messages from the user's last one on.
func countSinceUser(all []model.Message) int {
	if i := lastUser(all); i >= 0 {
		return len(all) - i
	}
	return 1
}

// countOpening returns the number of system messages at the beginning.
func countOpening(messages []model.Message) int {
	i := slices.IndexFunc(messages, func(m model.Message) bool { return m.Role != model.System })
	if i < 0 {
		return len(messages)
	}
	return i
}

// repairToolCalls makes a transcript that plugins have changed valid for a model. It removes
// results without a call, and adds a result to each call without one.
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

// withCurrent adds the user's last message to a compactor's messages if it is missing: the model is
// about to answer it.
func withCurrent(all, messages []model.Message) []model.Message {
	i := lastUser(all)
	if i < 0 || slices.ContainsFunc(messages, func(m model.Message) bool { return sameMessage(m, all[i]) }) {
		return messages
	}
	return append(messages, all[i])
}

// without returns the messages that are not among others.
func without(messages, others []model.Message) []model.Message {
	var out []model.Message
	for _, m := range messages {
		if !slices.ContainsFunc(others, func(o model.Message) bool { return sameMessage(m, o) }) {
			out = append(out, m)
		}
	}
	return out
}

// sameMessage reports whether two messages are the same. It ignores the fields that a plugin may
// have left out.
func sameMessage(a, b model.Message) bool {
	return a.Role == b.Role && a.Content == b.Content && a.ToolCallID == b.ToolCallID && len(a.ToolCalls) == len(b.ToolCalls)
}

// A foreignMessage is a message that a plugin has written.
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
		return model.Message{}, fmt.Errorf("unknown role %.40q", f.Role)
	}
	m := model.Message{Role: f.Role, ToolCallID: f.ToolCallID, Name: f.Name, Failed: f.Failed}
	if text, ok := rawjson.Unquote(f.Content); ok {
		m.Content = text
	} else if !rawjson.Missing(f.Content) {
		m.Content = string(f.Content)
	}
	if len(f.ToolCalls) > 0 {
		m.ToolCalls = wellFormed(f.ToolCalls)
	}
	return m, nil
}

// readMessages reads a compactor's list of messages. The error is that of the first wrong one.
func readMessages(raw json.RawMessage) ([]model.Message, error) {
	out, faults := readEach(raw)
	if len(faults) > 0 {
		return nil, faults[0]
	}
	return out, nil
}

// readEach reads the messages of a list, and returns an error for each one that it cannot read.
func readEach(raw json.RawMessage) (out []model.Message, faults []error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, []error{fmt.Errorf("not a list of messages: %.80q", raw)}
	}
	for i, one := range list {
		var f foreignMessage
		if err := json.Unmarshal(one, &f); err != nil {
			faults = append(faults, fmt.Errorf("message %d is not a message: %.80q", i, one))
			continue
		}
		m, err := f.message()
		if err != nil {
			faults = append(faults, fmt.Errorf("message %d: %w", i, err))
			continue
		}
		out = append(out, m)
	}
	return out, faults
}

// readRetained reads the messages that plugins retain. faults has an error for each message that
// cannot be read. The other messages count, because other plugins may have added them. Plugins may
// retain a result without its call, or a call without its result. So a tool's result becomes a
// message of the system, and calls are removed.
func readRetained(raw json.RawMessage) (out []model.Message, faults []error) {
	if rawjson.Missing(raw) {
		return nil, nil
	}
	messages, faults := readEach(raw)
	for _, m := range messages {
		if m.Role == model.ToolRole {
			m = model.Message{Role: model.System, Content: fmt.Sprintf("Result of tool %s:\n\n%s", m.Name, m.Content)}
		}
		m.ToolCalls = nil
		if m.Content != "" {
			out = append(out, m)
		}
	}
	return out, faults
}

// changedList returns a list of messages from a payload; nil if it is still the list that was sent.
func changedList(sent []model.Message, raw json.RawMessage) json.RawMessage {
	if rawjson.Missing(raw) {
		return nil
	}
	if messages, err := readMessages(raw); err == nil && slices.EqualFunc(messages, sent, sameMessage) {
		return nil
	}
	return raw
}
