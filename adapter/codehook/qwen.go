package codehook

// qwenAnswer puts a wish into the words of Qwen Code. They are those of Claude Code, but for a
// result: it is replaced by saying that the turn is over, which it then is not.
func (m *Moment) qwenAnswer(w *wish) Answer {
	if w.result != nil {
		return document(object("continue", false, "stopReason", nonEmpty(*w.result)))
	}
	return m.claudeAnswer(w)
}
