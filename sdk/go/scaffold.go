package plugin

import (
	"context"
	"encoding/json"
	"fmt"
)

// scaffolder answers in scaffold.
type scaffolder struct{ session *session }

// scaffold answers the handshake.
func (s *session) scaffold(ctx context.Context) (speaker, []byte, error) {
	if err := s.begin(ctx, nil, nil); err != nil {
		return nil, nil, err
	}
	result, err := marshal(s.plugin.scaffoldManifest())
	return scaffolder{s}, result, err
}

func (p *Plugin) scaffoldManifest() object {
	tools := []any{}
	for _, t := range p.tools {
		tools = append(tools, object{{"name", t.name}, {"description", t.description}, {"parameters", scaffoldParameters(t.schema)}})
	}
	priority := p.Priority
	if priority == 0 {
		priority = 500
	}
	return object{{"name", p.name}, {"version", p.version}, {"description", p.description},
		{"hooks", list(p.hooks(Scaffold))}, {"tools", tools}, {"priority", priority}}
}

// scaffoldParameters translates a schema to the protocol's list. The list has no field for the
// values of an enum, so they go into the description.
func scaffoldParameters(schema object) []any {
	out := []any{}
	properties, _ := schema.get("properties").(object)
	required, _ := schema.get("required").([]any)
	for _, p := range properties {
		s, _ := p.value.(object)
		kind, _ := s.get("type").(string)
		doc, _ := s.get("description").(string)
		if values, ok := s.get("enum").([]any); ok {
			doc += " One of: " + words(values) + "."
		}
		out = append(out, object{{"name", p.name}, {"type", kind}, {"description", doc}, {"required", among(required, p.name)}})
	}
	return out
}

func list(words []string) []any {
	out := []any{}
	for _, w := range words {
		out = append(out, w)
	}
	return out
}

func (scaffolder) alone() bool { return true }

func (d scaffolder) answer(ctx context.Context, out []byte, method, params []byte) ([]byte, error) {
	ctx = with(ctx, Call{Dialect: Scaffold})
	switch string(method) {
	case "hook/post_user_input":
		return d.input(ctx, out, params)
	case "hook/context_enhance":
		return d.context(ctx, out, params)
	case "hook/pre_llm_send":
		return d.prompt(ctx, out, params)
	case "hook/post_llm_response":
		return d.reply(ctx, out, params)
	case "hook/pre_tool_execute":
		return d.before(ctx, out, params)
	case "hook/post_tool_execute":
		return d.after(ctx, out, params)
	case "tool/execute":
		return d.execute(ctx, out, params)
	}
	return nil, unknown(method)
}

// A change is a field that is added to the answer if the event was changed.
type change struct{ name, value string }

// verdict writes the answer of a hook.
func (d scaffolder) verdict(out []byte, v Verdict, changes ...change) ([]byte, error) {
	switch v.kind {
	case kindFail:
		return nil, v.err
	case kindDeny, kindSkip:
		if v.kind == kindDeny { // the protocol has no field for the reason
			d.session.plugin.log.Warn("message denied", "reason", v.reason, "suggest", v.suggest)
		}
		return append(out, `{"action":"skip"}`...), nil
	case kindModify:
		out = append(out, `{"action":"continue"`...)
	case kindStop:
		out = append(out, `{"action":"stop"`...)
	default:
		return append(out, `{"action":"continue"}`...), nil
	}
	for _, c := range changes {
		out = append(append(append(out, ',', '"'), c.name...), '"', ':')
		out = appendString(out, c.value)
	}
	return append(out, '}'), nil
}

func decode(params []byte, into any) error {
	if err := json.Unmarshal(params, into); err != nil {
		return &argumentError{decoding(err)}
	}
	return nil
}

func (d scaffolder) input(ctx context.Context, out, params []byte) ([]byte, error) {
	var e InputEvent
	if err := decode(params, &e); err != nil {
		return nil, err
	}
	v := d.session.plugin.ask(ctx, "turn.input", &e, "")
	return d.verdict(out, v, change{"message", e.Message})
}

func (d scaffolder) context(ctx context.Context, out, params []byte) ([]byte, error) {
	var e ContextEvent
	if err := decode(params, &e); err != nil {
		return nil, err
	}
	v := d.session.plugin.ask(ctx, "prompt.context", &e, "")
	return d.verdict(out, v, change{"dynamic_context", e.DynamicContext})
}

func (d scaffolder) prompt(ctx context.Context, out, params []byte) ([]byte, error) {
	var e PromptEvent
	if err := decode(params, &e); err != nil {
		return nil, err
	}
	v := d.session.plugin.ask(ctx, "prompt.send", &e, "")
	return d.verdict(out, v, change{"base_prompt", e.BasePrompt}, change{"dynamic_context", e.DynamicContext})
}

// reply fires model.reply, and turn.final if the model asks for no more tools.
func (d scaffolder) reply(ctx context.Context, out, params []byte) ([]byte, error) {
	var e ReplyEvent
	if err := decode(params, &e); err != nil {
		return nil, err
	}
	for i, call := range e.ToolCalls { // arguments are a string of JSON in this protocol
		e.ToolCalls[i].Arguments = unwrap(call.Arguments)
	}
	v := d.session.plugin.ask(ctx, "model.reply", &e, "")
	if len(e.ToolCalls) == 0 && (v.kind == kindNone || v.kind == kindContinue || v.kind == kindModify) {
		final := FinalEvent{Text: e.Text}
		switch last := d.session.plugin.ask(ctx, "turn.final", &final, ""); last.kind {
		case kindNone, kindContinue:
		default:
			v, e.Text = last, final.Text
		}
	}
	return d.verdict(out, v, change{"text", e.Text})
}

// unwrap returns the JSON in a string, or a value that is not a string as it is.
func unwrap(value json.RawMessage) json.RawMessage {
	if len(value) == 0 {
		return json.RawMessage("{}")
	}
	if value[0] != '"' {
		return value
	}
	return json.RawMessage(plain(value))
}

// toolParams holds the params of both hooks about tools.
type toolParams struct {
	Name      string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"`
	Result    string          `json:"result"`
	Success   *bool           `json:"success"`
}

func (p *toolParams) event() ToolEvent {
	return ToolEvent{Tool: p.Name, Arguments: unwrap(p.Arguments), Result: p.Result, Success: p.Success == nil || *p.Success}
}

// before fires tool.before, and then tool.resolve unless the first has ended the event.
func (d scaffolder) before(ctx context.Context, out, params []byte) ([]byte, error) {
	var p toolParams
	if err := decode(params, &p); err != nil {
		return nil, err
	}
	e := p.event()
	v := d.session.plugin.ask(ctx, "tool.before", &e, e.Tool)
	if v.kind == kindNone || v.kind == kindContinue || v.kind == kindModify {
		resolved := e
		if r := d.session.plugin.ask(ctx, "tool.resolve", &resolved, e.Tool); r.kind == kindAnswer || r.kind == kindFail {
			v = r
		}
	}
	switch v.kind {
	case kindAnswer:
		text, err := asText(v.answer)
		return toolAnswer(out, text, !v.failed), err
	case kindDeny:
		return toolAnswer(out, refusal(v), false), nil
	}
	return d.verdict(out, v, change{"arguments", string(e.Arguments)})
}

// toolAnswer answers in place of a tool.
func toolAnswer(out []byte, result string, success bool) []byte {
	out = appendString(append(out, `{"action":"stop","result":`...), result)
	if success {
		return append(out, `,"success":true}`...)
	}
	return append(out, `,"success":false}`...)
}

// refusal returns the text for the model in place of a result.
func refusal(v Verdict) string {
	out := appendString([]byte(`{"error":`), v.reason)
	if v.suggest != "" {
		out = appendString(append(out, `,"suggest":`...), v.suggest)
	}
	return string(append(out, '}'))
}

func (d scaffolder) after(ctx context.Context, out, params []byte) ([]byte, error) {
	var p toolParams
	if err := decode(params, &p); err != nil {
		return nil, err
	}
	e := p.event()
	v := d.session.plugin.ask(ctx, "tool.after", &e, e.Tool)
	return d.verdict(out, v, change{"result", e.Result})
}

// execute runs a tool. Its failure is a result.
func (d scaffolder) execute(ctx context.Context, out, params []byte) ([]byte, error) {
	var name, arguments []byte
	err := members(params, func(key, value []byte) {
		switch string(key) {
		case "name":
			name = []byte(plain(value))
		case "arguments":
			arguments = value
		}
	})
	if err != nil {
		return nil, &argumentError{err}
	}
	tool := find(d.session.plugin.tools, name)
	if tool == nil {
		return nil, &argumentError{fmt.Errorf("there is no tool %.100q", name)}
	}
	result, err := d.session.plugin.invoke(ctx, tool, arguments)
	if err == nil {
		var text string
		if text, err = asText(result); err == nil {
			return append(appendString(append(out, `{"success":true,"result":`...), text), '}'), nil
		}
	}
	return append(appendString(append(out, `{"success":false,"result":`...), err.Error()), '}'), nil
}
