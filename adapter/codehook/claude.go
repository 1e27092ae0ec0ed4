package codehook

import (
	"strings"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// claudeAnswer puts a wish into the words of Claude Code. It reads JSON whatever the exit code is,
// and replaces a tool's input and its result as a whole. A permission is never granted: the
// person's own rules decide about a rewritten call.
func (m *Moment) claudeAnswer(w *wish) Answer {
	switch m.event.kind {
	case before:
		if w.deny != "" {
			return m.specific("permissionDecision", "deny", "permissionDecisionReason", w.deny)
		}
		if w.input != nil {
			return m.specific("updatedInput", w.input)
		}
	case prompt, stop:
		if w.deny != "" {
			return document(object("decision", "block", "reason", w.deny))
		}
	case after:
		if w.result != nil {
			return m.specific("updatedToolOutput", m.slot().put(m.data.Get("tool_response"), *w.result))
		}
	}
	if w.context != "" {
		return m.specific("additionalContext", w.context)
	}
	return Answer{}
}

// specific is an answer that is for one event.
func (m *Moment) specific(pairs ...any) Answer {
	return document(object("hookSpecificOutput", append(object("hookEventName", m.Event), object(pairs...)...)))
}

// slot is where the text is in the result of the tool that was called. A string in the place of the
// tool's object, or a part of it, is passed over by Claude Code.
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

// claudeSlots are the tools whose result has a text that the model is told, and where. Of others
// the model is told something that Claude Code makes up.
var claudeSlots = map[string][]slot{
	"Bash": {terminal}, "BashOutput": {terminal}, "Read": {at("file", "content")}, "Grep": {at("content"), lines("filenames")}, "Glob": {lines("filenames")},
	"WebFetch": {at("result")}, "Task": {content}, "Agent": {content},
}

// bare is the slot of a result that is a text.
var bare = slot{get: func(v raw) (string, bool) { return rawjson.Unquote(v) }, put: func(_ raw, text string) raw { return rawjson.String(text) }}
