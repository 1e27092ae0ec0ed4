package hook

// An Action is what a plugin's failure does to the event.
type Action string

// The actions.
const (
	ActionSkip  Action = "skip"  // as if this plugin had not been asked
	ActionAbort Action = "abort" // the event ends with the error
	ActionDeny  Action = "deny"  // the event is refused; the error is the reason
)

// A Kind says how a call to a plugin failed. Kinds are errors, so that errors.Is(err, hook.Timeout)
// works on anything Fire or Do returns.
type Kind string

// The kinds of failure.
const (
	Timeout     Kind = "timeout"     // no reply in time
	Crash       Kind = "crash"       // the process ended, or closed its end, during the call
	Garbled     Kind = "garbled"     // the reply is not what the protocol allows
	TooLarge    Kind = "too_large"   // a message is over the protocol's size
	Refused     Kind = "refused"     // the plugin answered with an error of its own
	Unavailable Kind = "unavailable" // the plugin is not running: never started, or being restarted
	Outdated    Kind = "outdated"    // the plugin says that it speaks another version of its protocol
	Unknown     Kind = "unknown"     // anything else
)

// Error makes a Kind usable as a target of errors.Is.
func (k Kind) Error() string { return string(k) }

// A FailureRow is one rule of a [FailureTable]. An empty Dialect, Mode or Kind matches all.
type FailureRow struct {
	Dialect string
	Mode    Mode
	Kind    Kind
	Action  Action
	Cite    string // the sentence that it obeys
}

// A FailureTable decides what a broken, slow or garbled plugin does to an event. The first row that
// matches counts. Where none does, the hub's own rules hold: a gate stays shut, and at any other
// point the event goes on without the plugin.
type FailureTable []FailureRow

// Action looks up what a failure does.
func (t FailureTable) Action(dialect string, mode Mode, kind Kind) Action {
	for i := range t {
		if t[i].matches(dialect, mode, kind) {
			return t[i].Action
		}
	}
	if mode == Gate {
		return ActionDeny
	}
	return ActionSkip
}

func (r *FailureRow) matches(dialect string, mode Mode, kind Kind) bool {
	return (r.Dialect == "" || r.Dialect == dialect) &&
		(r.Mode == "" || r.Mode == mode) &&
		(r.Kind == "" || r.Kind == kind)
}

// failureAction is what the failure of a hook does: what the operator says, or the table. At a
// notify point no failure changes anything.
func (t FailureTable) failureAction(h *Hook, mode Mode, kind Kind) Action {
	switch {
	case mode == Notify:
		return ActionSkip
	case h.OnFailure != "":
		return h.OnFailure
	}
	return t.Action(h.Dialect, mode, kind)
}
