package scaffold

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/internal/wire"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A translation is one of the protocol's hooks at one point: the params for the plugin, and what
// its reply sets in the payload.
type translation struct {
	name   string
	point  hook.Point
	params func(ev *hook.Event) json.RawMessage
	fields []string // string fields of the reply that are copied to the payload
	// apply reads a reply that needs more than copying fields. stop reports whether the reply's
	// action is stop.
	apply func(p, reply hook.Object, stop bool) (set hook.Object, note string)
	// denies says that a stop without success refuses the event. Its payload has no field success.
	denies bool
}

func (t *translation) spot() dialect.Spot { return dialect.Spot{Hook: t.name, Point: t.point} }

// native lists the six hooks at their own points, in the order of a turn:
// docs/protocols/scaffold.md, row S34.
var native = []translation{
	{name: "post_user_input", point: hook.TurnInput, fields: []string{"message"},
		params: func(ev *hook.Event) json.RawMessage {
			p := ev.Payload
			return ev.Encode(hook.Object{text(p, "message")})
		}},
	{name: "context_enhance", point: hook.PromptContext, fields: []string{"dynamic_context"},
		params: func(ev *hook.Event) json.RawMessage {
			p := ev.Payload
			return ev.Encode(hook.Object{text(p, "user_message"), text(p, "dynamic_context")})
		}},
	{name: "pre_llm_send", point: hook.PromptSend, fields: []string{"base_prompt", "dynamic_context"},
		params: func(ev *hook.Event) json.RawMessage {
			p := ev.Payload
			return ev.Encode(hook.Object{text(p, "base_prompt"), text(p, "dynamic_context")})
		}},
	{name: "post_llm_response", point: hook.ModelReply, fields: []string{"text"},
		params: func(ev *hook.Event) json.RawMessage {
			p := ev.Payload
			return ev.Encode(hook.Object{text(p, "text"), toolCalls(p)})
		}},
	{name: "pre_tool_execute", point: hook.ToolBefore, apply: answerTool,
		params: toolParams},
	{name: "post_tool_execute", point: hook.ToolAfter, fields: []string{"result"},
		params: func(ev *hook.Event) json.RawMessage {
			p := ev.Payload
			return ev.Encode(hook.Object{toolName(p), arguments(p), text(p, "result"), success(p)})
		}},
}

// translationOf returns the translation of a hook at its own point, or nil if there is no such
// hook.
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

// text returns a field of the payload as a string; other values are serialised.
func text(p hook.Object, name string) hook.Field {
	return hook.Field{Name: name, Value: dialect.AsText(p.Get(name))}
}

func toolName(p hook.Object) hook.Field {
	return hook.Field{Name: "tool_name", Value: dialect.AsText(p.Get("tool"))}
}

// arguments returns the arguments as a string of JSON, as the protocol has them.
func arguments(p hook.Object) hook.Field {
	v := p.Get("arguments")
	if rawjson.Missing(v) {
		v = json.RawMessage(`"{}"`)
	}
	return hook.Field{Name: "arguments", Value: dialect.AsText(v)}
}

// toolParams returns a tool's name and arguments. Long arguments are quoted in place, without a
// copy.
func toolParams(ev *hook.Event) json.RawMessage {
	p := ev.Payload
	v := p.Get("arguments")
	if rawjson.Missing(v) || isString(v) {
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

// toolCalls returns the name and the arguments of each call, as the protocol has them.
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

// reply turns a hook's result into a [hook.Reply]: docs/protocols/scaffold.md, rows S35 and S36. An
// unknown or missing action means continue. stop applies the fields, skip does not. skip counts
// only for post_user_input, and context_enhance ignores both.
func (t *translation) reply(ev *hook.Event, result wire.Result) (hook.Reply, error) {
	r := hook.Reply{Verdict: hook.Continue, Received: result.JSON}
	if string(result.JSON) == "null" {
		return r, nil
	}
	o, err := fields(result)
	if err != nil {
		return r, err
	}
	r.Notes = remarks(t.name, o)
	if result.Ambiguous != nil {
		r.Notes = append(r.Notes, result.Ambiguous.Error()+": the answer has the action stop, so it refuses")
	}
	action, _ := o.String("action")
	if t.point == hook.PromptContext && (action == actionStop || action == actionSkip) {
		r.Notes = append(r.Notes, action+" is ignored: at context_enhance every plugin is asked, and the context of each is used")
		action = ""
	}
	switch action {
	case actionSkip:
		if t.point == hook.TurnInput {
			r.Verdict = hook.Skip
		} else {
			r.Notes = append(r.Notes, "skip counts only for post_user_input: nothing of the answer is applied")
		}
		return r, nil
	case actionStop:
		r.Verdict = hook.Stop
	case "", actionContinue:
	default:
		r.Notes = append(r.Notes, fmt.Sprintf("there is no action %.80q, so it means continue; %s", action, nearest.Suggest(action, actions)))
	}
	stop := r.Verdict == hook.Stop
	r.Notes = append(r.Notes, missedRefusal(t.name, o, stop)...)
	if len(r.Notes) == 0 { // a remark on one of its fields says more
		r.Notes = noEffect(t.name, o)
	}
	if stop && t.denies && string(o.Get("success")) != "true" {
		r.Verdict, r.Reason = hook.Deny, dialect.Plain(blockTool(o).Get("result"))
		return r, nil
	}
	if t.apply == nil {
		r.Set = stringFields(o, t.fields)
		return r, nil
	}
	set, note := t.apply(ev.Payload, o, stop)
	if r.Set = set; note != "" {
		r.Notes = append(r.Notes, note)
	}
	return r, nil
}

// fields returns the fields of an answer. If one of them has two values, the answer is invalid, and
// the plugin would be skipped. So that no refusal is lost, such an answer refuses if one of its
// actions is stop.
func fields(answer wire.Result) (hook.Object, error) {
	if o := answer.Fields; o != nil {
		return o, nil
	}
	if answer.Ambiguous == nil {
		return nil, hook.Failure(hook.Garbled, fmt.Errorf("the result is not an object: %.80q", answer.JSON))
	}
	for c := rawjson.Fields(answer.JSON, 0); c.Next(); {
		if action, _ := rawjson.Unquote(answer.JSON[c.Value.Start:c.Value.End]); c.Name == "action" && action == actionStop {
			o, err := rawjson.Parse(answer.JSON)
			return o.With(hook.Field{Name: "action", Value: rawjson.String(actionStop)}, hook.Field{Name: "success", Value: json.RawMessage("false")}), err
		}
	}
	return nil, dialect.Unambiguous(answer)
}

// stringFields returns those of the named fields that are strings.
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

// answerTool reads a reply to pre_tool_execute: docs/protocols/scaffold.md, rows S37 and S38.
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
		return nil, "arguments are ignored: " + err.Error()
	}
	if object.Is(changed) {
		return hook.Object{{Name: "arguments", Value: changed}}, "" // not serialised again, since they may be long
	}
	return hook.Object{{Name: "arguments", Value: object.JSON()}}, ""
}

// inString parses the JSON object that a plugin sent in a string.
func inString(text []byte) (hook.Object, error) {
	object, err := rawjson.ParseForeign(text)
	if _, ok := errors.AsType[*rawjson.SyntaxError](err); ok {
		return nil, errors.New("not a JSON object in a string")
	}
	return object, err
}

// blockTool returns the result of a tool that a plugin stopped: docs/protocols/scaffold.md, row
// S37. If the reply has no result that is a string, the result is the text blocked. success is
// false unless the reply says true.
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
