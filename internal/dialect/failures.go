package dialect

import "github.com/patchbay-dev/patchbay/hook"

// Failures decides what a broken, slow or garbled plugin does to an event, for every dialect. It is
// the only place that decides this. The page docs/when-a-plugin-cannot-be-asked.md shows it, and a
// test holds both together.
var Failures = hook.FailureTable{
	{Mode: hook.Notify, Action: hook.ActionSkip,
		Cite: "at a notify point no answer and no failure changes anything, and every failure is recorded"},

	// A gate never opens by accident. The one exception is a hook that has no way to refuse: a
	// python on_begin returns nothing, so no refusal is lost.
	{Dialect: "python", Mode: hook.Gate, Action: hook.ActionSkip,
		Cite: `docs/protocols/python.md: "Plugin errors are logged but don't crash the pipeline"`},
	{Mode: hook.Gate, Action: hook.ActionDeny,
		Cite: `a gate never opens by accident; docs/protocols/dotagent.md: "exit with 0 for success, non-zero for failure"`},

	{Dialect: "scaffold", Kind: hook.Timeout, Action: hook.ActionSkip,
		Cite: `docs/protocols/scaffold.md: "If a plugin times out on a hook, it is skipped for that event"`},
	{Dialect: "scaffold", Action: hook.ActionSkip,
		Cite: `docs/protocols/scaffold.md: "If a plugin crashes mid-session, its hook calls fail silently and scaffold continues"`},
	{Dialect: "kaged", Action: hook.ActionSkip,
		Cite: `docs/protocols/kaged.md: hook_timeout_sec, "Seconds the daemon waits for a hook response before treating it as a timeout"`},
	{Dialect: "python", Action: hook.ActionSkip,
		Cite: `docs/protocols/python.md: "Plugin errors are logged but don't crash the pipeline"`},
	{Dialect: "mine", Kind: hook.Outdated, Action: hook.ActionSkip,
		Cite: `docs/protocols/mine.md: "Plugins should check this field and fail gracefully if the major version is unsupported"`},
	{Dialect: "mine", Action: hook.ActionAbort,
		Cite: "docs/protocols/mine.md: a transform hook that cannot be asked, or whose answer cannot be used, aborts the command"},
	{Dialect: "dotagent", Action: hook.ActionSkip,
		Cite: `docs/protocols/dotagent.md: "failure of a sink … does not roll back the agent"; notify is "Best-effort"`},

	{Action: hook.ActionSkip, Cite: "a plugin that does not work is left out, and its error recorded"},
}
