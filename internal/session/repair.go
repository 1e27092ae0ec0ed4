package session

import (
	"github.com/patchbay-dev/patchbay/internal/model"
)

// interruptedCall is what a model is told of a tool call whose result nobody wrote down.
const interruptedCall = "interrupted: the program that ran this call ended before there was a result. " +
	"The call may have been carried out, in part or wholly."

// openTurn is the turn that has begun and not ended, "" where there is none. Turns come one after another, so that only
// the last can be open.
func openTurn(entries []Entry) string {
	open := ""
	for _, e := range entries {
		switch e.Status {
		case "":
		case Began:
			open = e.Turn
		default:
			open = ""
		}
	}
	return open
}

// mending is what to add to a transcript so that a new turn can begin: results for the tool calls that have none, which
// no model would accept otherwise, and an end for the turn that has none. Done half, it is the other half the next time.
func mending(entries []Entry) []Entry {
	if len(entries) == 0 {
		return nil
	}
	turn := entries[len(entries)-1].Turn
	var add []Entry
	for _, call := range unanswered(fold(entries)) {
		add = append(add, Entry{Turn: turn, Message: &model.Message{
			Role: model.ToolRole, ToolCallID: call.ID, Name: call.Name, Content: interruptedCall, Failed: true,
		}})
	}
	if open := openTurn(entries); open != "" {
		add = append(add, Entry{Turn: open, Status: Interrupted})
	}
	return add
}

// unanswered are the tool calls at the end of a conversation that have no result. Results must follow their calls, so
// that calls further up, with something said since, are past mending by an addition.
func unanswered(messages []model.Message) []model.ToolCall {
	results := make(map[string]int)
	for i := len(messages) - 1; i >= 0; i-- {
		switch m := messages[i]; m.Role {
		case model.ToolRole:
			results[m.ToolCallID]++
		case model.Assistant:
			return without(m.ToolCalls, results)
		case model.User:
			return nil
		}
	}
	return nil
}

// without returns the calls that are not among the results, of which there may be several by one id.
func without(calls []model.ToolCall, results map[string]int) []model.ToolCall {
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
