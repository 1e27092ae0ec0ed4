package python

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// The protocol's hooks.
const (
	onBegin       = "on_begin"
	onToolCall    = "on_tool_call"
	onResolveTool = "on_resolve_tool"
	onToolResult  = "on_tool_result"
	onFinal       = "on_final"
	onDone        = "on_done"
)

// A translation is one of the protocol's hooks at one point: what its handler is given, and what
// its answer sets in the payload.
type translation struct {
	hook  string
	point hook.Point
	// match tells whether the handler is to be asked at all; nil: always.
	match func(payload hook.Object) bool
	// give is what the handler gets beside the context; nil: nothing.
	give func(payload hook.Object) hook.Object
	// about is what the payload tells of the request; nil: see [aboutRequest].
	about func(payload hook.Object) hook.Object
	// apply reads an answer; nil: it means nothing here.
	apply func(payload, given, answer hook.Object) hook.Reply
}

// native are the six hooks of seed 004 at their own points, in the order of a request, which is the
// order in which hooks are listed.
var native = []translation{
	{hook: onBegin, point: hook.TurnBegin},
	{hook: onToolCall, point: hook.ToolBefore, give: giveCall, apply: changeCall},
	{hook: onResolveTool, point: hook.ToolResolve, give: giveCall, apply: resolve},
	{hook: onToolResult, point: hook.ToolAfter, give: giveResult, apply: changeResult},
	{hook: onFinal, point: hook.TurnFinal, match: hasText("text"), give: giveText("text"), apply: changeText},
	{hook: onDone, point: hook.TurnDone},
}

// params are what the runner is sent: whose handler of which hook, for which request, within what
// time, and what the handler is given.
func (p *plugin) params(ctx context.Context, t *translation, payload, given hook.Object) json.RawMessage {
	params := make(hook.Object, 0, 5+len(given))
	params = append(params, text("plugin", p.path), text("hook", t.hook), text("request", hook.Request(ctx)),
		hook.Field{Name: "limit", Value: json.RawMessage(seconds(p.limit))})
	about := aboutRequest
	if t.about != nil {
		about = t.about
	}
	if known := about(payload); len(known) > 0 {
		params = append(params, hook.Field{Name: "context", Value: known.JSON()})
	}
	return append(params, given...).JSON()
}

// aboutRequest is what a payload tells of its request, whichever point it is of: turn.begin has all
// of it, and whoever fires the others may add it.
func aboutRequest(payload hook.Object) hook.Object {
	var known hook.Object
	for _, name := range []string{"session_id", "working_dir", "user_text"} {
		if v := payload.Get(name); isString(v) {
			known = append(known, hook.Field{Name: name, Value: v})
		}
	}
	return known
}

func (t *translation) given(payload hook.Object) hook.Object {
	if t.give == nil {
		return nil
	}
	return t.give(payload)
}

// reply turns an answer into the hub's words; null is no opinion. The runner may have added a note.
func (t *translation) reply(payload, given hook.Object, answer json.RawMessage) (hook.Reply, error) {
	reply := hook.Reply{Verdict: hook.Continue}
	if string(answer) == "null" {
		return reply, nil
	}
	o, err := rawjson.Parse(answer)
	if err != nil {
		return reply, hook.Failure(hook.Garbled, fmt.Errorf("the answer is not an object: %.80q", answer))
	}
	note, noted := o.String("note")
	if opinion := !noted || len(o) > 1; opinion && t.apply != nil {
		reply = t.apply(payload, given, o)
	}
	if noted {
		reply.Notes = append(reply.Notes, note)
	}
	return reply, nil
}

func giveCall(payload hook.Object) hook.Object { return hook.Object{toolCall(payload)} }

// toolCall is a ToolCall: {tool_name, tool_call_id, input}.
func toolCall(payload hook.Object) hook.Field {
	call := hook.Object{
		{Name: "tool_name", Value: asText(payload.Get("tool"))},
		{Name: "tool_call_id", Value: asText(payload.Get("call_id"))},
		{Name: "input", Value: input(payload.Get("arguments"))},
	}
	return hook.Field{Name: "call", Value: call.JSON()}
}

// input is a tool's arguments as an object: some hosts have them in a string.
func input(arguments json.RawMessage) json.RawMessage {
	if inner, ok := rawjson.Unquote(arguments); ok {
		if o, err := rawjson.Parse([]byte(inner)); err == nil {
			return o.JSON()
		}
	}
	if len(arguments) == 0 || arguments[0] != '{' {
		return json.RawMessage("{}")
	}
	return arguments
}

// giveResult adds a ToolResult: {output, success, error}.
func giveResult(payload hook.Object) hook.Object {
	result := hook.Object{
		{Name: "output", Value: asText(payload.Get("result"))},
		{Name: "success", Value: success(payload.Get("success"))},
		{Name: "error", Value: asError(payload.Get("error"))},
	}
	return hook.Object{toolCall(payload), {Name: "result", Value: result.JSON()}}
}

// hasText: the rulings, "on_final is skipped on empty text".
func hasText(field string) func(hook.Object) bool {
	return func(payload hook.Object) bool { return string(asText(payload.Get(field))) != `""` }
}

func giveText(field string) func(hook.Object) hook.Object {
	return func(payload hook.Object) hook.Object {
		return hook.Object{{Name: "text", Value: asText(payload.Get(field))}}
	}
}

// changeCall: seed 004, "Returns: ToolCall (modified) or None (unchanged)".
func changeCall(payload, given, answer hook.Object) hook.Reply {
	was, now := part(given, "call"), part(answer, "call")
	set := differing(was, now, map[string]string{"tool_name": "tool", "tool_call_id": "call_id"})
	if v := now.Get("input"); !bytes.Equal(v, was.Get("input")) {
		if isString(payload.Get("arguments")) {
			v = rawjson.String(string(v))
		}
		set = append(set, hook.Field{Name: "arguments", Value: v})
	}
	return hook.Reply{Verdict: hook.Continue, Set: set}
}

// resolve: seed 004, "Returns: ToolResult (intercept)". The answer stands for the tool's.
func resolve(_, _, answer hook.Object) hook.Reply {
	result := part(answer, "result")
	set := hook.Object{{Name: "result", Value: result.Get("output")}, {Name: "success", Value: result.Get("success")}}
	if v := result.Get("error"); isString(v) {
		set = append(set, hook.Field{Name: "error", Value: v})
	}
	return hook.Reply{Verdict: hook.Stop, Set: set}
}

// changeResult: seed 004, "Returns: ToolResult (modified) or None (unchanged)".
func changeResult(_, given, answer hook.Object) hook.Reply {
	set := differing(part(given, "result"), part(answer, "result"),
		map[string]string{"output": "result", "success": "success", "error": "error"})
	return hook.Reply{Verdict: hook.Continue, Set: set}
}

// changeText: seed 004, "Returns: str (modified) or None (unchanged)".
func changeText(_, _, answer hook.Object) hook.Reply {
	return hook.Reply{Verdict: hook.Continue, Set: hook.Object{{Name: "text", Value: answer.Get("text")}}}
}

// differing are the fields that an answer has otherwise than they were given, under their names in
// the payload. What was not changed is not set: the payload may have it in another form, or not at
// all.
func differing(was, now hook.Object, names map[string]string) hook.Object {
	var set hook.Object
	for _, f := range now {
		if name, ok := names[f.Name]; ok && !bytes.Equal(f.Value, was.Get(f.Name)) {
			set = append(set, hook.Field{Name: name, Value: f.Value})
		}
	}
	return set
}

// part is an object inside an object of our own making.
func part(o hook.Object, name string) hook.Object {
	inner, err := rawjson.Parse(o.Get(name))
	if err != nil {
		return nil // the answer has none: nothing is set
	}
	return inner
}

func text(name, value string) hook.Field {
	return hook.Field{Name: name, Value: rawjson.String(value)}
}

func isString(v json.RawMessage) bool { return len(v) > 0 && v[0] == '"' }

func isNull(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" }

// asText is a value as a string: what is none is serialised.
func asText(v json.RawMessage) json.RawMessage {
	switch {
	case isNull(v):
		return json.RawMessage(`""`)
	case isString(v):
		return v
	}
	return rawjson.String(string(v))
}

// asError is None where there is no error.
func asError(v json.RawMessage) json.RawMessage {
	if isNull(v) {
		return json.RawMessage("null")
	}
	return asText(v)
}

// success is true unless it is said not to be.
func success(v json.RawMessage) json.RawMessage {
	if string(v) == "false" {
		return v
	}
	return json.RawMessage("true")
}
