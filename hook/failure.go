package hook

// An Action is what a plugin's failure does to the event.
type Action string

// The actions.
const (
	ActionSkip  Action = "skip"  // as if this plugin had not been asked
	ActionAbort Action = "abort" // the event ends with the error
	ActionDeny  Action = "deny"  // the event is refused; the error is the reason
)

// A Kind says how a call to a plugin failed. Kinds are errors, so that
// errors.Is(err, hook.Timeout) works on anything Fire or Do returns.
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

// A failureRow is one rule. An empty Dialect, Mode or Kind matches all.
type failureRow struct {
	Dialect string
	Mode    Mode
	Kind    Kind
	Action  Action
	Cite    string // the sentence it obeys
}

// failureTable decides what a broken, slow or garbled plugin does to an event;
// the first row that matches counts. It is the only place that decides this.
var failureTable = []failureRow{
	{Mode: Notify, Action: ActionSkip,
		Cite: `DESIGN 2: notify: "nobody's answer or failure changes anything, but every failure is recorded"`},

	// A gate never opens by accident. The one exception is a hook that has no
	// way to refuse: a python on_begin returns nothing, so no refusal is lost.
	{Dialect: "python", Mode: Gate, Action: ActionSkip,
		Cite: `seed 004: "Plugin errors are logged but don't crash the pipeline"`},
	{Mode: Gate, Action: ActionDeny,
		Cite: `DESIGN 2: "A gate never opens by accident"; seed 000: "exit with 0 for success, non-zero for failure"`},

	{Dialect: "scaffold", Kind: Timeout, Action: ActionSkip,
		Cite: `seed 003: "If a plugin times out on a hook, it is skipped for that event"`},
	{Dialect: "scaffold", Action: ActionSkip,
		Cite: `seed 003: "If a plugin crashes mid-session, its hook calls fail silently and scaffold continues"`},
	{Dialect: "kaged", Action: ActionSkip,
		Cite: `seed 002: hook_timeout_sec, "Seconds the daemon waits for a hook response before treating it as a timeout"`},
	{Dialect: "python", Action: ActionSkip,
		Cite: `seed 004: "Plugin errors are logged but don't crash the pipeline"`},
	{Dialect: "mine", Kind: Outdated, Action: ActionSkip,
		Cite: `docs/protocols/mine.md: "Plugins should check this field and fail gracefully if the major version is unsupported"`},
	{Dialect: "mine", Action: ActionAbort,
		Cite: `docs/protocols/mine.md: a transform hook that cannot be asked, or whose answer cannot be used, aborts the command`},
	{Dialect: "dotagent", Action: ActionSkip,
		Cite: `seed 000: "failure of a sink … does not roll back the agent"; notify is "Best-effort"`},

	{Action: ActionSkip, Cite: "a plugin that does not work is left out, and its error recorded"},
}

// failureAction looks the action up; a hook's own OnFailure goes before the table.
func failureAction(h *Hook, mode Mode, kind Kind) Action {
	if h.OnFailure != "" && mode != Notify {
		return h.OnFailure
	}
	for i := range failureTable {
		if failureTable[i].matches(h.Dialect, mode, kind) {
			return failureTable[i].Action
		}
	}
	return ActionDeny // unreachable: the last row matches all
}

func (r *failureRow) matches(dialect string, mode Mode, kind Kind) bool {
	return (r.Dialect == "" || r.Dialect == dialect) &&
		(r.Mode == "" || r.Mode == mode) &&
		(r.Kind == "" || r.Kind == kind)
}
