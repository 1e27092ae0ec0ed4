package codehook

// encode puts what is left of a wish into the agent's words.
func (m *Moment) encode(w *wish) Answer {
	switch m.Agent {
	case Claude:
		return m.claudeAnswer(w)
	default:
		return NoOpinion(m.Agent)
	}
}
