package codehook

import (
	"strings"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// claudeAnswer encodes a wish for Claude Code, which reads JSON with any exit code. A new input or
// result of a tool replaces the whole old one. The answer never grants a permission: the user's own
// rules decide about a rewritten call.
func (m *Moment) claudeAnswer(w *wish) Answer {
	switch m.event.kind {
	case before:
		if w.deny != "" {
			return m.eventAnswer("permissionDecision", "deny", "permissionDecisionReason", w.deny)
		}
		if w.input != nil {
			return m.eventAnswer("updatedInput", w.input)
		}
	case prompt, stop:
		if w.deny != "" {
			return document(object("decision", "block", "reason", w.deny))
		}
	case after:
		if w.result != nil {
			return m.eventAnswer("updatedToolOutput", m.slot().put(m.data.Get("tool_response"), *w.result))
		}
	}
	if w.context != "" {
		return m.eventAnswer("additionalContext", w.context)
	}
	return Answer{}
}

// eventAnswer returns an answer with the given fields in hookSpecificOutput.
func (m *Moment) eventAnswer(pairs ...any) Answer {
	return document(object("hookSpecificOutput", append(object("hookEventName", m.Event), object(pairs...)...)))
}

// slot returns the place of the text in the result of the called tool. Claude Code ignores a new
// result that is a string, or only a part of the tool's object.
func (m *Moment) slot() slot {
	result := m.data.Get("tool_response")
	candidates := claudeSlots[m.call.host]
	if strings.HasPrefix(m.call.host, "mcp__") {
		candidates = []slot{parts, content, bare}
	}
	for _, s := range candidates {
		if _, fits := s.get(result); fits {
			return s
		}
	}
	return slot{}
}

// claudeSlots lists the tools whose result contains the text for the model, and where. For all
// other tools Claude Code writes the text itself.
var claudeSlots = map[string][]slot{
	"Bash": {terminal}, "BashOutput": {terminal}, "Read": {at("file", "content")}, "Grep": {at("content"), lines("filenames")}, "Glob": {lines("filenames")},
	"WebFetch": {at("result")}, "Task": {content}, "Agent": {content},
}

// bare is the slot of a result that is itself a text.
var bare = slot{get: func(v raw) (string, bool) { return rawjson.Unquote(v) }, put: func(_ raw, text string) raw { return rawjson.String(text) }}
