package scaffold

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A translation is one of the protocol's hooks at one point: what goes to the plugin, and what its
// reply sets in the payload.
type translation struct {
	name   string
	point  hook.Point
	params func(p hook.Object) json.RawMessage
	fields []string // string fields of the reply that are applied, the same in the payload
	// apply is for a hook whose reply is not just fields. stop tells the action.
	apply func(p, reply hook.Object, stop bool) (set hook.Object, note string)
}

func (t *translation) spot() dialect.Spot { return dialect.Spot{Hook: t.name, Point: t.point} }

// native are the six hooks of seed 003 at their own points, in the order of a turn.
var native = []translation{
	{name: "post_user_input", point: hook.TurnInput, fields: []string{"message"},
		params: func(p hook.Object) json.RawMessage {
			return hook.Object{text(p, "message")}.JSON()
		}},
	{name: "context_enhance", point: hook.PromptContext, fields: []string{"dynamic_context"},
		params: func(p hook.Object) json.RawMessage {
			return hook.Object{text(p, "user_message"), text(p, "dynamic_context")}.JSON()
		}},
	{name: "pre_llm_send", point: hook.PromptSend, fields: []string{"base_prompt", "dynamic_context"},
		params: func(p hook.Object) json.RawMessage {
			return hook.Object{text(p, "base_prompt"), text(p, "dynamic_context")}.JSON()
		}},
	{name: "post_llm_response", point: hook.ModelReply, fields: []string{"text"},
		params: func(p hook.Object) json.RawMessage {
			return hook.Object{text(p, "text"), toolCalls(p)}.JSON()
		}},
	{name: "pre_tool_execute", point: hook.ToolBefore, apply: answerTool,
		params: toolParams},
	{name: "post_tool_execute", point: hook.ToolAfter, fields: []string{"result"},
		params: func(p hook.Object) json.RawMessage {
			return hook.Object{toolName(p), arguments(p), text(p, "result"), success(p)}.JSON()
		}},
}

// translationOf is a hook at its own point; nil where there is no such hook.
func translationOf(name string) *translation {
	for i := range native {
		if native[i].name == name {
			return &native[i]
		}
	}
	return nil
}

func hookNames() []string {
	var names []string
	for i := range native {
		names = append(names, native[i].name)
	}
	return names
}

// text is a string field of the payload; what is not a string is serialised.
func text(p hook.Object, name string) hook.Field {
	return hook.Field{Name: name, Value: dialect.AsText(p.Get(name))}
}

func toolName(p hook.Object) hook.Field {
	return hook.Field{Name: "tool_name", Value: dialect.AsText(p.Get("tool"))}
}

// arguments are a string of JSON in this protocol: "arguments":"{...}".
func arguments(p hook.Object) hook.Field {
	v := p.Get("arguments")
	if dialect.Missing(v) {
		v = json.RawMessage(`"{}"`)
	}
	return hook.Field{Name: "arguments", Value: dialect.AsText(v)}
}

// toolParams are a tool's name and its arguments. What is long is written where it is to be, not
// into a string before.
func toolParams(p hook.Object) json.RawMessage {
	v := p.Get("arguments")
	if dialect.Missing(v) || isString(v) {
		return hook.Object{toolName(p), arguments(p)}.JSON()
	}
	head := append([]byte(`{"tool_name":`), toolName(p).Value...)
	return append(rawjson.AppendQuoted(append(head, `,"arguments":`...), v), '}')
}

func success(p hook.Object) hook.Field {
	v := p.Get("success")
	if string(v) != "false" {
		v = json.RawMessage("true")
	}
	return hook.Field{Name: "success", Value: v}
}

// toolCalls keeps of each call what the protocol has: {"name","arguments"}.
func toolCalls(p hook.Object) hook.Field {
	list := json.RawMessage("[]")
	var calls []json.RawMessage
	if err := json.Unmarshal(p.Get("tool_calls"), &calls); err == nil && len(calls) > 0 {
		list = append(json.RawMessage(nil), '[')
		for i, raw := range calls {
			if i > 0 {
				list = append(list, ',')
			}
			call, err := rawjson.Parse(raw)
			if err != nil {
				call = hook.Object{} // not an object: a call without a name
			}
			list = hook.Object{text(call, "name"), arguments(call)}.Append(list)
		}
		list = append(list, ']')
	}
	return hook.Field{Name: "tool_calls", Value: list}
}

// reply turns a hook's result into the hub's words. The rulings: "Only string fields are applied.
// Unknown or missing action is continue. Data is applied on stop, not on skip; skip counts only for
// post_user_input; stop and skip are ignored for context_enhance."
func (t *translation) reply(ev *hook.Event, result json.RawMessage) (hook.Reply, error) {
	r := hook.Reply{Verdict: hook.Continue, Received: result}
	if string(result) == "null" {
		return r, nil
	}
	o, err := rawjson.Parse(result)
	if err != nil {
		return r, hook.Failure(hook.Garbled, fmt.Errorf("the result is not an object: %.80q", result))
	}
	action, _ := o.String("action")
	if t.point == hook.PromptContext {
		action = ""
	}
	switch action {
	case actionSkip:
		if t.point == hook.TurnInput {
			r.Verdict = hook.Skip
		} else {
			r.Notes = append(r.Notes, "skip counts only for post_user_input")
		}
		return r, nil
	case actionStop:
		r.Verdict = hook.Stop
	}
	if t.apply == nil {
		r.Set = stringFields(o, t.fields)
		return r, nil
	}
	set, note := t.apply(ev.Payload, o, r.Verdict == hook.Stop)
	if r.Set = set; note != "" {
		r.Notes = append(r.Notes, note)
	}
	return r, nil
}

// stringFields picks the string fields that a hook may change.
func stringFields(o hook.Object, names []string) hook.Object {
	var set hook.Object
	for _, name := range names {
		if v := o.Get(name); isString(v) {
			set = append(set, hook.Field{Name: name, Value: v})
		}
	}
	return set
}

func isString(v json.RawMessage) bool { return len(v) > 0 && v[0] == '"' }

// answerTool reads a reply to pre_tool_execute. The rulings: "arguments in a continue reply
// replaces the arguments".
func answerTool(p, reply hook.Object, stop bool) (hook.Object, string) {
	if stop {
		return blockTool(reply), ""
	}
	changed, ok := rawjson.Text(reply.Get("arguments"))
	if !ok {
		return nil, ""
	}
	if isString(p.Get("arguments")) {
		return hook.Object{{Name: "arguments", Value: rawjson.Quote(changed)}}, ""
	}
	object, err := inString(changed)
	if err != nil {
		return nil, "arguments are passed over: " + err.Error()
	}
	if object.Is(changed) {
		return hook.Object{{Name: "arguments", Value: changed}}, "" // they may be long
	}
	return hook.Object{{Name: "arguments", Value: object.JSON()}}, ""
}

// inString is the JSON object that a plugin sent in a string.
func inString(text []byte) (hook.Object, error) {
	object, err := rawjson.ParseWithin(text, rawjson.MaxForeign)
	if deep, ok := errors.AsType[*rawjson.DepthError](err); ok {
		return nil, deep
	}
	if err != nil {
		return nil, errors.New("not a JSON object in a string")
	}
	return object, nil
}

// blockTool is the answer in a tool's place. The rulings: "stop without a string result gives
// {"blocked":"Plugin blocked execution"}; success is false unless the reply says otherwise".
func blockTool(reply hook.Object) hook.Object {
	result := reply.Get("result")
	if !isString(result) {
		result = rawjson.String(blocked)
	}
	success := json.RawMessage("false")
	if string(reply.Get("success")) == "true" {
		success = json.RawMessage("true")
	}
	return hook.Object{{Name: "result", Value: result}, {Name: "success", Value: success}}
}
