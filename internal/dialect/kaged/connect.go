package kaged

import (
	"slices"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/wire"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// elsewhere lists the points other than their own to which hooks can be connected. on_session_start
// injects context, so it can be connected where context is gathered. on_session_idle gets a text to
// store, so it can be connected where a text is finished. The compaction hooks need a compaction.
var elsewhere = []translation{
	{hook: "on_session_start", point: hook.PromptContext, ask: without("dynamic_context"), answer: injectedInto("dynamic_context")},
	{hook: "on_session_idle", point: hook.TurnFinal, ask: transcriptOf("text"), answer: nothing},
	{hook: "on_session_idle", point: hook.TurnDone, ask: transcriptOf("text"), answer: nothing},
	{hook: "on_session_idle", point: hook.SessionEnd, ask: without(), answer: nothing},
	{hook: "on_session_idle", point: hook.JobSink, ask: transcriptOf("message"), answer: nothing},
}

// transcriptOf passes the event's fields on, with the named one renamed to transcript.
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

// injectedInto appends what a hook injects to a field of the payload, after a blank line.
func injectedInto(name string) func(wire.Result, hook.Object) (hook.Reply, error) {
	return func(result wire.Result, payload hook.Object) (hook.Reply, error) {
		reply, err := injected(result, payload)
		if err != nil || len(reply.Set) == 0 {
			return reply, err
		}
		add, _ := reply.Set.String("inject")
		if old, _ := payload.String(name); old != "" {
			add = old + "\n\n" + add
		}
		reply.Set = hook.Object{field(name, rawjson.String(add))}
		return reply, nil
	}
}

// connection returns the entry of a hook at a point. The error names the points to which that hook
// can be connected.
func connection(name string, p hook.Point) (*translation, error) {
	return dialect.Connection(Name, dialect.Spot{Hook: name, Point: p}, (*translation).spot, native, elsewhere)
}
