// Package hook delivers events to plugins. It defines the points that a plugin can hook, the four
// modes in which the hooks of a point are called, what a failing plugin does to an event, and the
// trace that every event leaves.
//
// The package is not a plugin host: it does no I/O, starts no process, and knows no plugin
// protocol. It calls functions, each of which is the Call field of a [Hook]. Programs that want to
// run plugins use the root package, which finds and starts plugins and fires events through a
// [Bus].
//
// # Points and modes
//
// A [Point] is a moment that plugins can hook, such as [ToolBefore]: "a tool is about to run".
// [Points] lists all of them. Each point has one [Mode], which says how its hooks are called:
//
//	chain    one after another; each sees the payload that the one before left
//	first    one after another; the first answer ends the event
//	gate     one after another; all must agree
//	notify   all at once; answers change nothing
//
// The mode belongs to the point. A caller cannot fire a gate as a chain.
//
// # Hooks
//
// A [Hook] connects one plugin to one point. Its Call function receives the [Event], whose payload
// is a JSON object, and returns a [Reply]. The zero Reply means "continue, and change nothing". Set
// lists the payload fields to replace:
//
//	upper := hook.Hook{
//		Plugin: "upper",
//		Point:  hook.TurnInput,
//		Call: func(ctx context.Context, ev *hook.Event) (hook.Reply, error) {
//			text, _ := ev.Payload.String("message")
//			value := rawjson.String(strings.ToUpper(text))
//			return hook.Reply{Set: hook.Object{{Name: "message", Value: value}}}, nil
//		},
//	}
//
// A reply can also end the event. Its [Verdict] is then [Stop], [Skip] or [Deny], with a Reason for
// the user. A refusal is a reply, not an error: an error means that the call failed.
//
// # Firing an event
//
// A [Bus] holds the hooks of all points. [Bus.Set] replaces them, and [Bus.Fire] sends one event
// through the hooks of its point:
//
//	var bus hook.Bus
//	if err := bus.Set([]hook.Hook{upper}); err != nil {
//		log.Fatal(err)
//	}
//	out, err := bus.Fire(ctx, hook.TurnInput, json.RawMessage(`{"message":"hello"}`))
//
// The [Outcome] has the verdict, the payload as the last hook left it, and one [Step] for each hook
// that was called. Fire returns an error only in three cases: the point or the payload is invalid,
// ctx has ended, or a plugin failed and the failure table aborts the event.
//
// # Failures
//
// If a call fails, the [FailureTable] of the bus decides what happens to the event: [ActionSkip]
// goes on without the plugin, [ActionDeny] refuses the event, [ActionAbort] ends it with the error.
// An empty table denies at a gate and skips everywhere else. The error is an [*Error]; its [Kind]
// says how the call failed:
//
//	if errors.Is(err, hook.Timeout) {
//		// the plugin did not answer in time
//	}
//
// # Traces
//
// An Outcome marshals to JSON without the messages of the plugins. [Outcome.Trace] marshals with
// them: what each plugin was sent, what it returned, and what that changed in the payload.
//
// # Choosing plugins
//
// [WithChoice] chooses the plugins of one dialect that take part in the events fired with a
// context. [WithSession] and [WithRequest] say to which session and which request an event belongs.
//
// # How an event flows
//
//	Bus.Fire                           checks the point and the payload
//	  firing.inOrder | notify          calls the hooks one after another, or all at once
//	    firing.call                    calls one hook and fills in its step
//	      Do                           sets the deadline, counts, wraps the error
//	        Hook.Call                  the dialect: payload to wire, wire to reply
//	      FailureTable                 after an error: skip, abort or deny
//	    chain | first | gate           applies a reply as the mode says, one file each
//	      merge                        sets the fields of the reply in the payload
//	  Outcome                          verdict, payload, steps
package hook
