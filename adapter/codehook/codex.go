package codehook

// codexAnswer encodes a wish for Codex. Codex is strict: it ignores a whole answer if a field is
// unknown or belongs to another event, and goes on. A denial needs a reason, an allowance needs a
// new input, and an answer to the end of a turn must not have hookSpecificOutput.
func (m *Moment) codexAnswer(w *wish) Answer {
	switch m.event.kind {
	case before:
		if w.deny != "" {
			return m.eventAnswer("permissionDecision", "deny", "permissionDecisionReason", w.deny)
		}
		if w.input != nil {
			return m.eventAnswer("permissionDecision", "allow", "updatedInput", w.input)
		}
	case prompt, stop:
		if w.deny != "" {
			return document(object("decision", "block", "reason", w.deny))
		}
	case after:
		if w.result != nil {
			return document(object("decision", "block", "reason", nonEmpty(*w.result)))
		}
	}
	if w.context != "" {
		return m.eventAnswer("additionalContext", w.context)
	}
	return Answer{}
}

// codexRuns reports whether Codex accepts an input. Codex ignores an answer whose command has no
// text.
func codexRuns(tool string, input raw) bool {
	if tool != "Bash" {
		return true
	}
	_, ok := fieldsOf(input).String("command")
	return ok
}

// codexOutcome reads a result: a text for Codex's own tools, an object with a list for tools of MCP
// servers.
func codexOutcome(response raw) outcome {
	fields := fieldsOf(response)
	text := textOf(response)
	if parts, ok := contentText(fields); ok {
		text = parts
	}
	return outcome{text: text, success: string(fields.Get("isError")) != "true"}
}
