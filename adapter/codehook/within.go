package codehook

import "fmt"

// within brings a wish within what the agent can do, by the table of ways. What it cannot do is
// denied or told, and noted.
func (m *Moment) within(w *wish) *wish {
	switch {
	case w.deny != "":
		return m.denied(w)
	case w.input != nil && !m.runs(w.input):
		return m.instead(w, "rewrote this call, and "+m.Agent.Title()+" cannot run it so", m.call.host+" "+string(w.input))
	case w.message != nil && m.Agent.way(rewritePrompt) != does:
		return m.instead(w, "rewrote this message, and "+m.Agent.Title()+" cannot take a rewritten one", *w.message)
	}
	m.withinResult(w)
	m.withinContext(w)
	if w.reply != nil && m.Agent.way(replaceReply) != does {
		w.note("%s has shown the reply already: what plugin %s made of it is lost", m.Agent.Title(), w.by)
		w.reply = nil
	}
	return w
}

// instead denies what cannot be rewritten, with what a plugin made of it as the reason. What was,
// is never let through.
func (m *Moment) instead(w *wish, what, form string) *wish {
	w.deny = instead(w.by, what, form)
	w.note("plugin %s %s: denied", w.by, what)
	return m.denied(w)
}

func instead(by, what, form string) string {
	return fmt.Sprintf("plugin %s %s. Use this instead:\n%s", by, what, form)
}

// runs tells whether the agent runs a call with another input.
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

// denied: nothing else is said than the denial.
func (m *Moment) denied(w *wish) *wish {
	asked := map[kind]ask{before: denyCall, prompt: denyPrompt, stop: refuseAnswer}[m.event.kind]
	out := &wish{deny: w.deny, by: w.by}
	switch m.Agent.way(asked) {
	case does:
	case maybe:
		w.note("%s may pass over a refusal at %s: %s", m.Agent.Title(), m.Event, w.deny)
	default:
		w.note("%s cannot be told at %s: %s", m.Agent.Title(), m.Event, w.deny)
		out.deny = ""
	}
	return out
}

// withinResult: where a result cannot be replaced, the model is told beside it what a plugin made
// of it.
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
		w.context = "A plugin has this in the place of the tool's result: " + *w.result
		w.note("%s cannot replace this result: what plugin %s made of it is told beside the original", m.Agent.Title(), w.by)
	default:
		w.note("%s cannot replace this result: what plugin %s made of it is lost", m.Agent.Title(), w.by)
	}
	w.result = nil
}

// withinContext: what is added where the agent takes nothing is lost, and that is noted.
func (m *Moment) withinContext(w *wish) {
	asked := map[kind]ask{prompt: promptContext, sessionStart: startContext}[m.event.kind]
	if w.context == "" || asked == "" {
		return
	}
	switch m.Agent.way(asked) {
	case does:
	case maybe:
		w.note("%s may pass over what plugin %s added at %s", m.Agent.Title(), w.by, m.Event)
	default:
		w.note("%s takes nothing at %s: what plugin %s added is lost", m.Agent.Title(), m.Event, w.by)
		w.context = ""
	}
}
