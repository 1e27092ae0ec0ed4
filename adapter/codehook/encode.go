package codehook

// encode puts what is left of a wish into the agent's words. No two agents agree on any of them.
func (m *Moment) encode(w *wish) Answer {
	if m.alien {
		return document(nil) // whoever the agent is, it goes on
	}
	switch m.Agent {
	case Claude:
		return m.claudeAnswer(w)
	case Codex:
		return m.codexAnswer(w)
	case Gemini:
		return m.geminiAnswer(w)
	case Copilot:
		return m.copilotAnswer(w)
	case Qwen:
		return m.qwenAnswer(w)
	case Cursor:
		return m.cursorAnswer(w)
	default:
		return m.openCodeAnswer(w)
	}
}

// nonEmpty is a text for agents that take an empty one for none at all.
func nonEmpty(text string) string { return or(text, "(no output)") }
