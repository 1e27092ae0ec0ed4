package python

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/wire"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// The hooks of the protocol: docs/protocols/python.md, rows P52 to P57.
const (
	onBegin       = "on_begin"
	onToolCall    = "on_tool_call"
	onResolveTool = "on_resolve_tool"
	onToolResult  = "on_tool_result"
	onFinal       = "on_final"
	onDone        = "on_done"
)

// A translation is one of the protocol's hooks at one point: what its handler gets, and what its
// answer sets in the payload.
type translation struct {
	hook  string
	point hook.Point
	// match reports whether the handler is called; nil: it is always called.
	match func(payload hook.Object) bool
	// give returns what the handler gets besides the context; nil: nothing.
	give func(payload hook.Object) hook.Object
	// about returns what the payload says about the request; nil: see [aboutRequest].
	about func(payload hook.Object) hook.Object
	// apply reads an answer; nil: answers are ignored.
	apply func(payload, given, answer hook.Object) hook.Reply
}

// native lists the six hooks at their own points, in the order of a request:
// docs/protocols/python.md, row P24.
var native = []translation{
	{hook: onBegin, point: hook.TurnBegin},
	{hook: onToolCall, point: hook.ToolBefore, give: giveCall, apply: changeCall},
	{hook: onResolveTool, point: hook.ToolResolve, give: giveCall, apply: resolve},
	{hook: onToolResult, point: hook.ToolAfter, give: giveResult, apply: changeResult},
	{hook: onFinal, point: hook.TurnFinal, match: hasText("text"), give: giveText("text"), apply: changeText},
	{hook: onDone, point: hook.TurnDone},
}

// params returns the message to the runner: plugin, hook, request, time limit, and what the handler
// gets.
func (p *plugin) params(ctx context.Context, t *translation, payload, given hook.Object) json.RawMessage {
	params := make(hook.Object, 0, 6+len(given))
	params = append(params, text("plugin", p.path), text("hook", t.hook), text("request", hook.Request(ctx)),
		hook.Field{Name: "limit", Value: json.RawMessage(seconds(p.limit))})
	if p.strict && t.hook != onDone { // the end of a request cannot be refused
		params = append(params, hook.Field{Name: "strict", Value: json.RawMessage("true")})
	}
	about := aboutRequest
	if t.about != nil {
		about = t.about
	}
	if known := about(payload); len(known) > 0 {
		params = append(params, hook.Field{Name: "context", Value: known.JSON()})
	}
	return append(params, given...).JSON()
}

// aboutRequest returns what a payload says about its request. turn.begin has all three fields;
// events of other points may have them.
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

// reply turns an answer into a [hook.Reply]; null changes nothing. The runner may have added a
// note.
func (t *translation) reply(payload, given hook.Object, answer wire.Result) (hook.Reply, error) {
	reply := hook.Reply{Verdict: hook.Continue}
	if string(answer.JSON) == "null" {
		return reply, nil
	}
	if err := dialect.Unambiguous(answer); err != nil {
		return reply, err
	}
	o := answer.Fields
	if o == nil {
		return reply, hook.Failure(hook.Garbled, fmt.Errorf("the answer is not an object: %.80q", answer.JSON))
	}
	note, noted := o.String("note")
	switch opinion := !noted || len(o) > 1; {
	case opinion && t.apply != nil:
		reply = t.apply(payload, given, o)
	case opinion:
		reply.Notes = append(reply.Notes, fmt.Sprintf("its answer is ignored: %s takes none", t.point))
	}
	if noted {
		reply.Notes = append(reply.Notes, note)
	}
	return reply, nil
}

func giveCall(payload hook.Object) hook.Object { return hook.Object{toolCall(payload)} }

// toolCall returns a ToolCall: {tool_name, tool_call_id, input}.
func toolCall(payload hook.Object) hook.Field {
	call := hook.Object{
		{Name: "tool_name", Value: asText(payload.Get("tool"))},
		{Name: "tool_call_id", Value: asText(payload.Get("call_id"))},
		{Name: "input", Value: input(payload.Get("arguments"))},
	}
	return hook.Field{Name: "call", Value: call.JSON()}
}

// input returns a tool's arguments as an object. Arguments that are not an object become its only
// field, so that a guard sees them.
func input(arguments json.RawMessage) json.RawMessage {
	if len(arguments) > 0 && arguments[0] == '{' {
		return arguments
	}
	o := dialect.Arguments(arguments)
	if o == nil {
		o = hook.Object{{Name: wholeArguments, Value: arguments}}
	}
	return o.JSON()
}

// wholeArguments is the field of an input for arguments that are not an object.
const wholeArguments = "arguments"

// arguments is the reverse of input, for an input that a plugin changed. It returns nil if the
// input cannot be put in the place of the arguments that the call had.
func arguments(was, input json.RawMessage) json.RawMessage {
	if dialect.Arguments(was) == nil {
		o, err := rawjson.Parse(input)
		if err != nil || len(o) != 1 {
			return nil
		}
		return o.Get(wholeArguments)
	}
	if isString(was) {
		return rawjson.String(string(input))
	}
	return input
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

// hasText matches payloads with a text: docs/protocols/python.md, row P56.
func hasText(field string) func(hook.Object) bool {
	return func(payload hook.Object) bool { return string(asText(payload.Get(field))) != `""` }
}

func giveText(field string) func(hook.Object) hook.Object {
	return func(payload hook.Object) hook.Object {
		return hook.Object{{Name: "text", Value: asText(payload.Get(field))}}
	}
}

// changeCall sets what on_tool_call changed: docs/protocols/python.md, row P53.
func changeCall(payload, given, answer hook.Object) hook.Reply {
	was, now := part(given, "call"), part(answer, "call")
	set := differing(was, now, map[string]string{"tool_name": "tool", "tool_call_id": "call_id"})
	reply := hook.Reply{Verdict: hook.Continue, Set: set}
	if v := now.Get("input"); !bytes.Equal(v, was.Get("input")) {
		if v = arguments(payload.Get("arguments"), v); v == nil {
			reply.Notes = append(reply.Notes, fmt.Sprintf("the input of its answer is ignored: the tool's arguments are not an object, and the input must have them as %q alone", wholeArguments))
			return reply
		}
		reply.Set = append(reply.Set, hook.Field{Name: "arguments", Value: v})
	}
	return reply
}

// resolve sets the result of on_resolve_tool, which replaces the tool's: docs/protocols/python.md,
// row P54.
func resolve(_, _, answer hook.Object) hook.Reply {
	result := part(answer, "result")
	set := hook.Object{{Name: "result", Value: result.Get("output")}, {Name: "success", Value: result.Get("success")}}
	if v := result.Get("error"); isString(v) {
		set = append(set, hook.Field{Name: "error", Value: v})
	}
	return hook.Reply{Verdict: hook.Stop, Set: set}
}

// changeResult sets what on_tool_result changed: docs/protocols/python.md, row P55.
func changeResult(_, given, answer hook.Object) hook.Reply {
	set := differing(part(given, "result"), part(answer, "result"),
		map[string]string{"output": "result", "success": "success", "error": "error"})
	return hook.Reply{Verdict: hook.Continue, Set: set}
}

// changeText sets the text of on_final: docs/protocols/python.md, row P56.
func changeText(_, _, answer hook.Object) hook.Reply {
	return hook.Reply{Verdict: hook.Continue, Set: hook.Object{{Name: "text", Value: answer.Get("text")}}}
}

// differing returns the fields that the answer changed, under their names in the payload. Fields
// that did not change are left out, because the payload may have them in another form, or not at
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

// part returns an object inside a message between host and runner.
func part(o hook.Object, name string) hook.Object {
	inner, err := rawjson.Parse(o.Get(name))
	if err != nil {
		return nil // the answer does not have it, so nothing is set
	}
	return inner
}

func text(name, value string) hook.Field {
	return hook.Field{Name: name, Value: rawjson.String(value)}
}

func isString(v json.RawMessage) bool { return len(v) > 0 && v[0] == '"' }

// asText returns a value as a JSON string; other values are serialised.
func asText(v json.RawMessage) json.RawMessage {
	switch {
	case rawjson.Missing(v):
		return json.RawMessage(`""`)
	case isString(v):
		return v
	}
	return rawjson.String(string(v))
}

// asError returns null if there is no error.
func asError(v json.RawMessage) json.RawMessage {
	if rawjson.Missing(v) {
		return json.RawMessage("null")
	}
	return asText(v)
}

// success returns true unless v is false.
func success(v json.RawMessage) json.RawMessage {
	if string(v) == "false" {
		return v
	}
	return json.RawMessage("true")
}
