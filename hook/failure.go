package hook

// An Action says what a plugin's failure does to the event.
type Action string

// The actions.
const (
	ActionSkip  Action = "skip"  // the event goes on as if the plugin had not been called
	ActionAbort Action = "abort" // the event ends, and Fire returns the error
	ActionDeny  Action = "deny"  // the event is refused, with the error as the reason
)

// A Kind says how a call to a plugin failed. It is an error, so that errors.Is(err, hook.Timeout)
// works for every error that Fire and Do return.
type Kind string

// The kinds of failure.
const (
	Timeout     Kind = "timeout"     // no reply in time
	Crash       Kind = "crash"       // the process ended, or closed its pipe, during the call
	Garbled     Kind = "garbled"     // the reply breaks the rules of the protocol
	TooLarge    Kind = "too_large"   // a message is larger than the protocol allows
	Refused     Kind = "refused"     // the plugin answered with an error
	Unavailable Kind = "unavailable" // the plugin is not running: never started, or being restarted
	Outdated    Kind = "outdated"    // the plugin reports that it speaks another version of its protocol
	Unknown     Kind = "unknown"     // anything else
)

// Error returns the kind as text.
func (k Kind) Error() string { return string(k) }

// A FailureRow is one rule of a [FailureTable]. An empty Dialect, Mode or Kind matches everything.
type FailureRow struct {
	Dialect string
	Mode    Mode
	Kind    Kind
	Action  Action
	Cite    string // the sentence of the protocol that the rule obeys
}

// A FailureTable decides what happens to an event when a plugin fails. The first matching row
// decides. If no row matches, a failure denies the event at a Gate point, and is skipped at all
// others.
type FailureTable []FailureRow

// Action returns what a failure of this kind does to an event.
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

// failureAction returns what the failure of the hook h does to an event. At a Notify point it is
// always skipped. Elsewhere the operator's setting, h.OnFailure, comes before the table.
func (t FailureTable) failureAction(h *Hook, mode Mode, kind Kind) Action {
	switch {
	case mode == Notify:
		return ActionSkip
	case h.OnFailure != "":
		return h.OnFailure
	}
	return t.Action(h.Dialect, mode, kind)
}
