package codehook

import "unicode/utf8"

// copilotAnswer encodes a wish for Copilot CLI. The answer is one flat object, for events under
// their new names (PreToolUse) and under their older ones (preToolUse).
func (m *Moment) copilotAnswer(w *wish) Answer {
	switch {
	case w.deny != "" && m.event.kind == before:
		return document(object("permissionDecision", "deny", "permissionDecisionReason", w.deny))
	case w.deny != "":
		return document(object("decision", "block", "reason", w.deny))
	case w.input != nil:
		return document(object("modifiedArgs", w.input))
	case w.result != nil:
		return document(object("modifiedResult", object("resultType", "success", "textResultForLlm", *w.result)))
	}
	var answer = object()
	if w.message != nil {
		answer = object("modifiedPrompt", *w.message)
	}
	if w.context != "" {
		answer = append(answer, object("additionalContext", cut(w.context, copilotContext))...)
	}
	if len(answer) == 0 {
		return Answer{}
	}
	return document(answer)
}

// copilotContext limits the bytes of context that Copilot CLI accepts.
const copilotContext = 10_000

// cut shortens a text at the end of a character, and adds a note about it.
func cut(text string, most int) string {
	const note = "\n… (cut)"
	if len(text) <= most {
		return text
	}
	end := most - len(note)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + note
}

// copilotOutcome reads a result. Its fields have other names in events under their older names.
func (m *Moment) copilotOutcome() outcome {
	result := fieldsOf(m.value("tool_result", "toolResult"))
	text := or(plain(result, "text_result_for_llm"), plain(result, "textResultForLlm"))
	kind := or(plain(result, "result_type"), plain(result, "resultType"))
	if kind == "" || kind == "success" {
		return outcome{text: text, success: true}
	}
	return outcome{text: text, fault: kind}
}
