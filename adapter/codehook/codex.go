package codehook

// codexAnswer puts a wish into the words of Codex, which is strict: a field that it does not know,
// or that another event has, makes the answer void, and the agent goes on. Of Codex's own rules: a
// denial has a reason, an allowance a new input, and the end of a turn nothing that is for one
// event.
func (m *Moment) codexAnswer(w *wish) Answer {
	switch m.event.kind {
	case before:
		if w.deny != "" {
			return m.specific("permissionDecision", "deny", "permissionDecisionReason", w.deny)
		}
		if w.input != nil {
			return m.specific("permissionDecision", "allow", "updatedInput", w.input)
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
		return m.specific("additionalContext", w.context)
	}
	return Answer{}
}

// codexRuns tells whether Codex takes an input: a command without its text makes the answer void.
func codexRuns(tool string, input raw) bool {
	if tool != "Bash" {
		return true
	}
	_, ok := fieldsOf(input).String("command")
	return ok
}

// codexOutcome is a result: of its own tools a text, of those of MCP servers an object with a list.
func codexOutcome(response raw) outcome {
	fields := fieldsOf(response)
	text := plainly(response)
	if parts, ok := partsText(fields.Get("content")); ok {
		text = parts
	}
	return outcome{text: text, success: string(fields.Get("isError")) != "true"}
}
