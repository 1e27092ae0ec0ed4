package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/internal/schema/sample"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A scaffoldHook holds the params of a hook, and the fields that its answer may have.
type scaffoldHook struct {
	params func(text string) json.RawMessage // text is a JSON string
	fields []string
}

// arguments returns a tool's arguments in the form of the protocol: a string of JSON.
var arguments = string(rawjson.String(`{"cmd":"ls -l","path":"a \"b\""}`))

var scaffoldHooks = map[string]*scaffoldHook{
	"post_user_input": {textIn(`{"message":%s}`), []string{"message"}},
	"context_enhance": {textIn(`{"user_message":"hello","dynamic_context":%s}`), []string{"dynamic_context"}},
	"pre_llm_send":    {textIn(`{"base_prompt":"You are helpful.","dynamic_context":%s}`), []string{"base_prompt", "dynamic_context"}},
	"post_llm_response": {textIn(`{"text":%s,"tool_calls":[{"name":"shell","arguments":` + arguments + `}]}`),
		[]string{"text"}},
	"pre_tool_execute": {func(text string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"tool_name":"shell","arguments":%s}`, rawjson.String(`{"cmd":`+text+`}`)))
	}, []string{"arguments", "result"}},
	"post_tool_execute": {textIn(`{"tool_name":"shell","arguments":` + arguments + `,"result":%s,"success":true}`), []string{"result"}},
}

func textIn(format string) func(string) json.RawMessage {
	return func(text string) json.RawMessage { return json.RawMessage(fmt.Sprintf(format, text)) }
}

func scaffoldHookNames() []string { return slices.Sorted(maps.Keys(scaffoldHooks)) }

func (s *scaffoldSuite) askHooks(t *trial) {
	for _, name := range s.hooks {
		for _, text := range []string{`"hello"`, `""`, string(rawjson.String(sample.Odd))} {
			a := s.ask(t, "the hook "+name, request{"hook/" + name, scaffoldHooks[name].params(text), scaffoldReply})
			if t.failed() {
				return
			}
			if a.err != nil {
				t.failf("the hook %s is answered with %v", name, a.err)
				return
			}
			o, err := rawjson.Parse(a.result)
			if err != nil {
				t.failf("the hook %s is answered with %s instead of an object", name, shown(a.result))
				return
			}
			s.checkAnswer(name, o)
		}
	}
	if len(s.hooks) == 0 {
		t.skipf("it has no hooks")
		return
	}
	slow(t)
	t.passf("%s, three times each", render.Count(len(s.hooks), "hook"))
}

// checkAnswer notes what is wrong with the answer of a hook.
func (s *scaffoldSuite) checkAnswer(name string, o rawjson.Object) {
	action, isText := o.String("action")
	switch {
	case o.Get("action") == nil:
	case !isText || action != "continue" && action != "stop" && action != "skip":
		s.seen.note(sawStatus, "the hook %s is answered with the action %s", name, shown(o.Get("action")))
	case action == "skip" && name != "post_user_input":
		s.seen.note(sawStatus, "the hook %s is answered with skip, which has no effect there", name)
	}
	known := append([]string{"action", "success"}, scaffoldHooks[name].fields...)
	if name != "pre_tool_execute" {
		known = slices.Delete(known, 1, 2)
	}
	for _, f := range o {
		if s.unknown == "" && !slices.Contains(known, f.Name) {
			s.unknown = fmt.Sprintf("the hook %s answers with the unknown field %s, which is ignored; %s", name, shown(f.Name), nearest.Suggest(f.Name, known))
		}
	}
	for _, field := range scaffoldHooks[name].fields {
		if v := o.Get(field); !rawjson.Missing(v) && v[0] != '"' {
			s.seen.note(sawContext, "the hook %s answers with %s, which is not a string: %.160s", name, field, v)
		}
	}
	if text, ok := rawjson.Unquote(o.Get("arguments")); ok && name == "pre_tool_execute" && action != "stop" {
		if _, err := rawjson.Parse([]byte(text)); err != nil {
			s.seen.note(sawContext, "the hook %s answers with arguments that are not a JSON object in a string: %s", name, shown(text))
		}
	}
	if v := o.Get("success"); name == "pre_tool_execute" && v != nil && string(v) != "true" && string(v) != "false" {
		s.seen.note(sawContext, "the hook %s answers with success, which is neither true nor false: %.160s", name, v)
	}
}

func (s *scaffoldSuite) askTools(t *trial) {
	calls, failures := 0, ""
	for _, tool := range s.tools {
		for _, v := range samples(tool.schema) {
			what := fmt.Sprintf("the tool %s (%s arguments)", tool.name, v.Size)
			a := s.ask(t, what, s.execute(tool.name, v.JSON))
			if t.failed() {
				return
			}
			calls++
			if a.err != nil {
				failures = fmt.Sprintf("%s: %v", what, a.err)
				continue
			}
			s.toolResult(t, what, a)
			if t.failed() {
				return
			}
		}
	}
	switch {
	case calls == 0:
		t.skipf("it has no tools")
	case failures != "":
		t.warnf("%s; report the failure of a tool as {\"success\":false,\"result\":…}", failures)
	default:
		t.passf("%s", plural(calls, "call"))
	}
}

func (s *scaffoldSuite) toolResult(t *trial, what string, a *answer) {
	o, err := rawjson.Parse(a.result)
	if err != nil {
		t.failf("%s is answered with %s instead of an object", what, shown(a.result))
		return
	}
	switch v := string(o.Get("success")); {
	case v == "":
		t.warnf("%s is answered without success, which counts as true: %s", what, shown(a.result))
	case v != "true" && v != "false":
		t.failf("%s: success is neither true nor false: %.160s", what, v)
	}
	switch v := o.Get("result"); {
	case v == nil:
		t.failf("%s is answered without a result: %s", what, shown(a.result))
	case v[0] != '"':
		t.warnf("%s: result is not a string, and is shown as JSON: %s", what, shown(v))
	}
}

func (s *scaffoldSuite) execute(tool string, arguments json.RawMessage) request {
	return request{"tool/execute", json.RawMessage(fmt.Sprintf(`{"name":%s,"arguments":%s}`, rawjson.String(tool), arguments)), scaffoldTools}
}

const unknownToolName = "conformance-no-such-tool"

func (s *scaffoldSuite) unknownTool(t *trial) {
	a := s.ask(t, "a tool that does not exist", s.execute(unknownToolName, json.RawMessage(`{}`)))
	if t.failed() || a.err != nil {
		return
	}
	o, _ := rawjson.Parse(a.result) // without an object there is no success
	if string(o.Get("success")) != "false" {
		t.warnf("a tool that does not exist is answered as if it existed: %s", shown(a.result))
	}
}
