// Package hook is the hub of Patchbay: the points a plugin can hook, the four modes in which they
// run, what a failing plugin does to an event, and the trace every event leaves. It knows no plugin
// protocol and no host, and does no I/O; everything it calls is a [Hook] somebody else made.
//
// # The vocabulary
//
// A [Point] is a moment, such as "a tool is about to run". Its [Mode] belongs to the point, never
// to the caller. An [Event] is one such moment with its payload, a JSON object. A [Hook] is one
// plugin's subscription to one point. It answers with a [Reply]: a [Verdict] and the payload fields
// it wants set. All the replies together make the [Outcome], which keeps one [Step] for each plugin
// that was called.
//
// # How an event flows
//
//	Bus.Fire              one event, from the caller
//	  chain | first | gate | notify    the mode's loop (one file each)
//	    firing.call       asks one hook, keeps the step
//	      Do              the one place that calls a plugin: deadline, counters, error
//	        Hook.Call     the dialect: payload to wire, wire to reply
//	      FailureTable    after an error: skip, abort or deny
//	    merge             sets the reply's fields in the payload
//	  Outcome             verdict, payload, steps
//
// A refusal is data: deny, stop and skip are verdicts. Fire returns an error only when the caller
// asked for nonsense, when the context ended, or when the failure table says a broken plugin aborts
// the event.
package hook
