package kaged

import (
	"encoding/json"
	"slices"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// elsewhere lists where the protocol's hooks have a meaning beyond their own points. What
// on_session_start injects is context, so it fits where context is gathered; what on_session_idle
// is given is a text to keep, so it fits where one is finished. The compaction hooks mean nothing
// without a compaction.
var elsewhere = []wiring{
	{hook: "on_session_start", point: hook.PromptContext, ask: without("dynamic_context"), answer: injectedInto("dynamic_context")},
	{hook: "on_session_idle", point: hook.TurnFinal, ask: transcriptOf("text"), answer: nothing},
	{hook: "on_session_idle", point: hook.TurnDone, ask: transcriptOf("text"), answer: nothing},
	{hook: "on_session_idle", point: hook.SessionEnd, ask: without(), answer: nothing},
	{hook: "on_session_idle", point: hook.JobSink, ask: transcriptOf("message"), answer: nothing},
}

// transcriptOf passes the event's fields on with one of them called transcript.
func transcriptOf(name string) func(hook.Object) hook.Object {
	return func(payload hook.Object) hook.Object {
		params := slices.Clone(payload)
		for i := range params {
			if params[i].Name == name {
				params[i].Name = "transcript"
			}
		}
		return params
	}
}

// injectedInto adds what a hook injects to the text of a payload field, a blank line between.
func injectedInto(name string) func(json.RawMessage, hook.Object) (hook.Reply, error) {
	return func(result json.RawMessage, payload hook.Object) (hook.Reply, error) {
		reply, err := injected(result, payload)
		if err != nil || len(reply.Set) == 0 {
			return reply, err
		}
		add, _ := reply.Set.String("inject")
		if old, _ := payload.String(name); old != "" {
			add = old + "\n\n" + add
		}
		return hook.Reply{Set: hook.Object{field(name, rawjson.String(add))}}, nil
	}
}

// findWiring looks up a hook at a point; the error says where it has a meaning.
func findWiring(name string, p hook.Point) (*wiring, error) {
	return dialect.Connection(Name, dialect.Spot{Hook: name, Point: p}, (*wiring).spot, natively, elsewhere)
}
