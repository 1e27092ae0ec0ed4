package codehook

import (
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// geminiAnswer encodes a wish for Gemini CLI. A new input replaces the whole old one. A denial of a
// result replaces the result by the reason, and a denial of the answer makes the agent try again.
func (m *Moment) geminiAnswer(w *wish) Answer {
	switch {
	case w.deny != "":
		return document(object("decision", "deny", "reason", w.deny))
	case w.result != nil:
		return document(object("decision", "deny", "reason", nonEmpty(*w.result)))
	case w.input != nil:
		return document(object("hookSpecificOutput", object("tool_input", w.input)))
	case w.reply != nil:
		return document(object("hookSpecificOutput", object("llm_response", m.geminiReply(*w.reply))))
	case w.context != "":
		return document(object("hookSpecificOutput", object("additionalContext", w.context)))
	default:
		return Answer{}
	}
}

// geminiParts returns the texts of a piece of a reply.
func (m *Moment) geminiParts() []raw {
	candidates := elements(fieldsOf(m.data.Get("llm_response")).Get("candidates"))
	if len(candidates) == 0 {
		return nil
	}
	return elements(fieldsOf(fieldsOf(candidates[0]).Get("content")).Get("parts"))
}

func (m *Moment) geminiText() string {
	var text strings.Builder
	for _, part := range m.geminiParts() {
		s, _ := rawjson.Unquote(part)
		text.WriteString(s)
	}
	return text.String()
}

// geminiReply returns the piece of the reply with a new text. The piece has a candidate, because it
// had a text.
func (m *Moment) geminiReply(text string) raw {
	response := fieldsOf(m.data.Get("llm_response"))
	candidates := elements(response.Get("candidates"))
	candidates[0] = set(candidates[0], []string{"content", "parts"}, joined([]raw{rawjson.String(text)}))
	changed := hook.Object{{Name: "candidates", Value: joined(candidates)}}
	if response.Get("text") != nil {
		changed = append(changed, object("text", text)...)
	}
	return response.With(changed...).JSON()
}

// llmOutcome reads a result of Gemini CLI or Qwen Code.
func llmOutcome(response raw) outcome {
	fields := fieldsOf(response)
	text := plain(fields, "llmContent")
	if parts, ok := partsText(fields.Get("llmContent")); ok {
		text = parts
	}
	fault := fields.Get("error")
	if rawjson.Missing(fault) {
		return outcome{text: text, success: true}
	}
	return outcome{text: text, fault: or(plain(fieldsOf(fault), "message"), textOf(fault))}
}

// withoutContext removes the context that hooks have added to the session. Gemini CLI puts it
// before the first message.
func withoutContext(prompt string) string {
	if rest, ok := strings.CutPrefix(prompt, "<hook_context>"); ok {
		if _, said, ok := strings.Cut(rest, "</hook_context>\n\n"); ok {
			return said
		}
	}
	return prompt
}
