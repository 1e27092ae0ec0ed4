package codehook

// within brings a wish within what the agent can do, by the table of ways. What it cannot do is denied or told, and noted.
func (m *Moment) within(w *wish) *wish {
	if w.deny != "" {
		return m.denied(w)
	}
	if w.input != nil && m.way(rewriteCall) != does {
		form := m.call.host + " " + string(w.input)
		w.deny = instead(w.by, "rewrote this call, and "+m.Agent.Title()+" cannot run a rewritten one", form)
		w.note("%s cannot run a rewritten call: denied, with the rewritten call as the reason", m.Agent.Title())
		return m.denied(w)
	}
	if w.message != nil && m.way(rewritePrompt) != does {
		w.deny = instead(w.by, "rewrote this message, and "+m.Agent.Title()+" cannot take a rewritten one", *w.message)
		w.note("%s cannot take a rewritten message: denied, with the rewritten message as the reason", m.Agent.Title())
		return m.denied(w)
	}
	m.withinResult(w)
	m.withinContext(w)
	if w.reply != nil && m.way(replaceReply) != does {
		w.note("%s has shown the reply already: what plugin %s made of it is lost", m.Agent.Title(), w.by)
		w.reply = nil
	}
	return w
}

// denied: nothing else than the denial is said.
func (m *Moment) denied(w *wish) *wish {
	asked := map[kind]ask{before: denyCall, prompt: denyPrompt, stop: refuseAnswer}[m.event.kind]
	if m.way(asked) != does {
		w.note("%s cannot be told at %s: %s", m.Agent.Title(), m.Event, w.deny)
		return &wish{notes: w.notes}
	}
	return &wish{deny: w.deny, by: w.by, notes: w.notes}
}

// withinResult: where a result cannot be replaced, the model is told beside it what a plugin made of it.
func (m *Moment) withinResult(w *wish) {
	if w.result == nil {
		return
	}
	asked := replaceResult
	if m.event.kind == failure {
		asked = replaceError
	}
	way := m.way(asked)
	if way == does && !m.replaceable() {
		way = tells
	}
	switch way {
	case does:
		return
	case tells:
		w.context = "A plugin has this in the place of the tool's result: " + *w.result
		w.note("%s cannot replace this result: what plugin %s made of it is told beside the original", m.Agent.Title(), w.by)
	default:
		w.note("%s cannot replace this result: what plugin %s made of it is lost", m.Agent.Title(), w.by)
	}
	w.result = nil
}

func (m *Moment) withinContext(w *wish) {
	asked := map[kind]ask{prompt: promptContext, sessionStart: startContext}[m.event.kind]
	if w.context == "" || asked == "" || m.way(asked) == does {
		return
	}
	if m.way(asked) == tells {
		w.note("%s may pass over context at %s", m.Agent.Title(), m.Event)
		return
	}
	w.note("%s takes no context at %s: what plugin %s added is lost", m.Agent.Title(), m.Event, w.by)
	w.context = ""
}

func (m *Moment) way(a ask) way { return ways[a][m.Agent] }
