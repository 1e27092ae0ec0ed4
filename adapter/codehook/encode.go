package codehook

// encode writes a wish in the format of the agent.
func (m *Moment) encode(w *wish) Answer {
	if m.alien {
		return document(nil) // valid for every agent: it goes on
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

// nonEmpty replaces an empty text, for agents that treat it as a missing one.
func nonEmpty(text string) string { return or(text, "(no output)") }
