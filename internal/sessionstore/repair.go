package sessionstore

import (
	"github.com/patchbay-dev/patchbay/internal/model"
)

// interruptedCall is what a model is told of a tool call whose result nobody wrote down.
const interruptedCall = "interrupted: the program that ran this call ended before there was a result. " +
	"The call may have been carried out, in part or wholly."

// unanswered are the tool calls at the end of a conversation that have no result. Results must
// follow their calls, so that calls further up, with something said since, are past mending by an
// addition.
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

// withoutResults returns the calls that are not among the results, of which there may be several by one
// id.
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
