package sessionstore

import (
	"github.com/patchbay-dev/patchbay/internal/model"
)

// interruptedCall is the result of a tool call whose real result was not written.
const interruptedCall = "interrupted: the program that ran this call ended before there was a result. " +
	"The call may have been carried out, in part or wholly."

// unanswered returns the tool calls at the end of a conversation that have no result. A result must
// follow its call, so earlier calls without results cannot be repaired by adding entries.
func unanswered(messages []model.Message) []model.ToolCall {
	results := make(map[string]int)
	for i := len(messages) - 1; i >= 0; i-- {
		switch m := messages[i]; m.Role {
		case model.ToolRole:
			results[m.ToolCallID]++
		case model.Assistant:
			return withoutResults(m.ToolCalls, results)
		case model.User:
			return nil
		}
	}
	return nil
}

// withoutResults returns the calls that have no result. Several calls may have the same id.
func withoutResults(calls []model.ToolCall, results map[string]int) []model.ToolCall {
	var left []model.ToolCall
	for _, call := range calls {
		if results[call.ID] > 0 {
			results[call.ID]--
		} else {
			left = append(left, call)
		}
	}
	return left
}
