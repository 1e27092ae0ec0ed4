package codehook

// qwenAnswer encodes a wish for Qwen Code. The format is that of Claude Code, except for a new
// result: it is sent as the reason for stopping the turn. Qwen Code does not stop the turn then.
func (m *Moment) qwenAnswer(w *wish) Answer {
	if w.result != nil {
		return document(object("continue", false, "stopReason", nonEmpty(*w.result)))
	}
	return m.claudeAnswer(w)
}
