package codehook

import "fmt"

// within reduces a wish to what the agent can do, according to ways. A change that the agent cannot
// make is denied, added as context or dropped. In each case a note says so.
func (m *Moment) within(w *wish) *wish {
	switch {
	case w.deny != "":
		return m.denied(w)
	case w.input != nil && !m.runs(w.input):
		return m.instead(w, "rewrote this call, and "+m.Agent.Title()+" cannot run the rewritten call", m.call.host+" "+string(w.input))
	case w.message != nil && m.Agent.way(rewritePrompt) != does:
		return m.instead(w, "rewrote this message, and "+m.Agent.Title()+" cannot accept a rewritten one", *w.message)
	}
	m.withinResult(w)
	m.withinContext(w)
	if w.reply != nil && m.Agent.way(replaceReply) != does {
		w.note("%s has shown the reply already: the version of plugin %s is lost", m.Agent.Title(), w.by)
		w.reply = nil
	}
	return w
}

// instead denies an event that cannot be rewritten, with the plugin's version as the reason. The
// original is never let through.
func (m *Moment) instead(w *wish, what, form string) *wish {
	w.deny = instead(w.by, what, form)
	w.note("plugin %s %s: denied", w.by, what)
	return m.denied(w)
}

func instead(by, what, form string) string {
	return fmt.Sprintf("plugin %s %s. Use this instead:\n%s", by, what, form)
}

// runs reports whether the agent can run a call with another input.
func (m *Moment) runs(input raw) bool {
	switch m.Agent.way(rewriteCall) {
	case does:
		return (m.Agent != Codex || codexRuns(m.call.host, input)) && (m.Agent != OpenCode || m.has("args"))
	case some:
		return cursorRuns(m.call.host, m.call.input, input)
	default:
		return false
	}
}

// denied reduces a wish to its denial.
func (m *Moment) denied(w *wish) *wish {
	asked := map[kind]ask{before: denyCall, prompt: denyPrompt, stop: refuseAnswer}[m.event.kind]
	out := &wish{deny: w.deny, by: w.by}
	switch m.Agent.way(asked) {
	case does:
	case maybe:
		w.note("%s may ignore a refusal at %s: %s", m.Agent.Title(), m.Event, w.deny)
	default:
		w.note("%s accepts no refusal at %s: %s", m.Agent.Title(), m.Event, w.deny)
		out.deny = ""
	}
	return out
}

// withinResult handles a result that the agent cannot replace: the plugin's version is added as
// context for the model, or lost with a note.
func (m *Moment) withinResult(w *wish) {
	if w.result == nil {
		return
	}
	asked := replaceResult
	if m.event.kind == failure {
		asked = replaceError
	}
	way := m.Agent.way(asked)
	if way == some {
		way = tells
		if m.replaceable() {
			way = does
		}
	}
	switch way {
	case does:
		return
	case tells:
		w.context = "A plugin replaces the tool's result with this: " + *w.result
		w.note("%s cannot replace this result: the model gets the version of plugin %s beside the original", m.Agent.Title(), w.by)
	default:
		w.note("%s cannot replace this result: the version of plugin %s is lost", m.Agent.Title(), w.by)
	}
	w.result = nil
}

// withinContext drops added context that the agent does not accept, with a note.
func (m *Moment) withinContext(w *wish) {
	asked := map[kind]ask{prompt: promptContext, sessionStart: startContext}[m.event.kind]
	if w.context == "" || asked == "" {
		return
	}
	switch m.Agent.way(asked) {
	case does:
	case maybe:
		w.note("%s may ignore the context that plugin %s added at %s", m.Agent.Title(), w.by, m.Event)
	default:
		w.note("%s accepts no context at %s: that of plugin %s is lost", m.Agent.Title(), m.Event, w.by)
		w.context = ""
	}
}
