package dialect

import "github.com/patchbay-dev/patchbay/hook"

// Failures decides what a failure of a plugin does to an event, for every dialect. Only a hook's
// OnFailure has precedence over it. The configuration sets OnFailure; so does dotagent for a
// preflight, and mine for a notify hook. The page docs/when-a-plugin-cannot-be-asked.md shows the
// table, and TestThePagesTable compares the two.
var Failures = hook.FailureTable{
	{Mode: hook.Notify, Action: hook.ActionSkip,
		Cite: "at a notify point no answer and no failure changes anything, and every failure is recorded"},

	// A gate never opens by accident. The one exception is a hook that has no way to refuse: a
	// python on_begin returns nothing, so no refusal is lost.
	{Dialect: "python", Mode: hook.Gate, Action: hook.ActionSkip,
		Cite: "docs/protocols/python.md, row P38: a failure is logged, and the chain goes on"},
	{Mode: hook.Gate, Action: hook.ActionDeny,
		Cite: "docs/protocols/dotagent.md, row D37: a gate never opens by accident"},

	{Dialect: "scaffold", Kind: hook.Timeout, Action: hook.ActionSkip,
		Cite: "docs/protocols/scaffold.md, row S41: a plugin that times out is skipped for that event"},
	{Dialect: "scaffold", Action: hook.ActionSkip,
		Cite: "docs/protocols/scaffold.md, row S45: if a plugin has crashed, its calls fail, and the other plugins go on"},
	{Dialect: "kaged", Action: hook.ActionSkip,
		Cite: "docs/protocols/kaged.md, row K69: a plugin that times out is skipped for that event"},
	{Dialect: "python", Action: hook.ActionSkip,
		Cite: "docs/protocols/python.md, row P38: a failure is logged, and the chain goes on"},
	{Dialect: "mine", Kind: hook.Outdated, Action: hook.ActionSkip,
		Cite: "docs/protocols/mine.md, rows M29 and M49: a plugin of another protocol version is passed over with a warning"},
	{Dialect: "mine", Action: hook.ActionAbort,
		Cite: "docs/protocols/mine.md, rows M30 and M42: any error of a transform hook aborts the command"},
	{Dialect: "dotagent", Action: hook.ActionSkip,
		Cite: "docs/protocols/dotagent.md, row D38: a sink or a notifier that failed changes nothing else"},

	{Action: hook.ActionSkip, Cite: "a plugin that does not work is left out, and its error recorded"},
}
