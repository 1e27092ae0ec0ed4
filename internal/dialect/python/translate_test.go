package python

import (
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
	"github.com/patchbay-dev/patchbay/rawjson"
)

var _ dialect.Dialect = New()
var _ Plugin = (*plugin)(nil)
var _ dialect.Connector = (*plugin)(nil)
var _ dialect.Examiner = New()
var _ dialect.Prober = New()

func object(t testing.TB, text string) hook.Object {
	t.Helper()
	o, err := rawjson.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestGiven: handlers get the right objects at every point.
func TestGiven(t *testing.T) {
	for _, c := range []struct {
		rule          string
		hook          string
		point         hook.Point
		payload, want string
	}{
		{"a call", onToolCall, hook.ToolBefore, `{"tool":"shell","call_id":"c1","arguments":{"cmd":"ls"}}`,
			`{"call":{"tool_name":"shell","tool_call_id":"c1","input":{"cmd":"ls"}}}`},
		{"missing fields are empty", onResolveTool, hook.ToolResolve, `{}`,
			`{"call":{"tool_name":"","tool_call_id":"","input":{}}}`},
		{"arguments in a string are read", onToolCall, hook.ToolBefore, `{"tool":"t","arguments":"{\"a\": 1}"}`,
			`{"call":{"tool_name":"t","tool_call_id":"","input":{"a":1}}}`},
		{"arguments that are not an object are the only field", onToolCall, hook.ToolBefore, `{"tool":7,"call_id":null,"arguments":[1]}`,
			`{"call":{"tool_name":"7","tool_call_id":"","input":{"arguments":[1]}}}`},
		{"a result", onToolResult, hook.ToolAfter, `{"tool":"t","call_id":"1","arguments":{},"result":"out","success":false,"error":"no"}`,
			`{"call":{"tool_name":"t","tool_call_id":"1","input":{}},"result":{"output":"out","success":false,"error":"no"}}`},
		{"a result that is not a string is serialised", onToolResult, hook.ToolAfter, `{"tool":"t","result":{"a":[1,"é"]}}`,
			`{"call":{"tool_name":"t","tool_call_id":"","input":{}},"result":{"output":"{\"a\":[1,\"é\"]}","success":true,"error":null}}`},
		{"a text", onFinal, hook.TurnFinal, `{"text":"hi"}`, `{"text":"hi"}`},
		{"on_begin gets only the context", onBegin, hook.TurnBegin, `{"user_text":"hi"}`, `{}`},
		{"a command is a tool", onToolCall, hook.CommandBefore, `{"command":"git","args":["push"],"flags":{"force":"true"}}`,
			`{"call":{"tool_name":"git","tool_call_id":"","input":{"args":["push"],"flags":{"force":"true"}}}}`},
		{"a command without args and flags is a tool too", onToolCall, hook.CommandValidate, `{"command":"ls","args":null}`,
			`{"call":{"tool_name":"ls","tool_call_id":"","input":{"args":[],"flags":{}}}}`},
		{"a program's output", onToolResult, hook.CommandAfter, `{"command":"ls","result":{"stdout":"a\n","stderr":"w","exit_code":0}}`,
			`{"call":{"tool_name":"ls","tool_call_id":"","input":{"args":[],"flags":{}}},"result":{"output":"a\n","success":true,"error":null}}`},
		{"a program that failed", onToolResult, hook.CommandDone, `{"command":"ls","result":{"stdout":"","stderr":"no","exit_code":2}}`,
			`{"call":{"tool_name":"ls","tool_call_id":"","input":{"args":[],"flags":{}}},"result":{"output":"","success":false,"error":"no"}}`},
		{"a command that was refused", onToolResult, hook.CommandDone, `{"command":"ls","result":null,"error":"refused"}`,
			`{"call":{"tool_name":"ls","tool_call_id":"","input":{"args":[],"flags":{}}},"result":{"output":"","success":false,"error":"refused"}}`},
		{"another result of a command", onToolResult, hook.CommandAfter, `{"command":"ls","result":[1]}`,
			`{"call":{"tool_name":"ls","tool_call_id":"","input":{"args":[],"flags":{}}},"result":{"output":"[1]","success":true,"error":null}}`},
		{"a model's reply is a text", onFinal, hook.ModelReply, `{"text":"hi","tool_calls":[]}`, `{"text":"hi"}`},
		{"a job's message is a text", onFinal, hook.JobSink, `{"agent":"a","message":"out"}`, `{"text":"out"}`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			tr, err := connection(c.hook, c.point)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(tr.given(object(t, c.payload)).JSON()); got != c.want {
				t.Errorf("given %s, want %s", got, c.want)
			}
		})
	}
}

// TestReplies: answers set the right fields of the payload.
func TestReplies(t *testing.T) {
	tool := `{"tool":"t","call_id":"1","arguments":{"a":1}}`
	after := `{"tool":"t","call_id":"1","arguments":{},"result":"out","success":true}`
	command := `{"command":"git","args":["push"],"flags":{"f":"1"}}`
	for _, c := range []struct {
		rule            string
		hook            string
		point           hook.Point
		payload, answer string
		verdict         hook.Verdict
		set             string
	}{
		{"None is no opinion", onToolCall, hook.ToolBefore, tool, `null`, hook.Continue, `{}`},
		{"a call that is the same sets nothing", onToolCall, hook.ToolBefore, tool,
			`{"call":{"tool_name":"t","tool_call_id":"1","input":{"a":1}}}`, hook.Continue, `{}`},
		{"the changed fields of a call are set", onToolCall, hook.ToolBefore, tool,
			`{"call":{"tool_name":"u","tool_call_id":"2","input":{"a":2}}}`, hook.Continue, `{"tool":"u","call_id":"2","arguments":{"a":2}}`},
		{"arguments in a string stay in a string", onToolCall, hook.ToolBefore, `{"tool":"t","arguments":"{\"a\":1}"}`,
			`{"call":{"tool_name":"t","tool_call_id":"","input":{"a":2}}}`, hook.Continue, `{"arguments":"{\"a\":2}"}`},
		{"arguments that are not an object stay in their form", onToolCall, hook.ToolBefore, `{"tool":"t","arguments":"ls"}`,
			`{"call":{"tool_name":"t","tool_call_id":"","input":{"arguments":"pwd"}}}`, hook.Continue, `{"arguments":"pwd"}`},
		{"an input that cannot be the arguments is ignored", onToolCall, hook.ToolBefore, `{"tool":"t","arguments":"ls"}`,
			`{"call":{"tool_name":"t","tool_call_id":"","input":{"cmd":"pwd"}}}`, hook.Continue, `{}`},
		{"a result resolves the tool", onResolveTool, hook.ToolResolve, tool,
			`{"result":{"output":"mine","success":true,"error":null}}`, hook.Stop, `{"result":"mine","success":true}`},
		{"a result that resolves the tool may have an error", onResolveTool, hook.ToolResolve, tool,
			`{"result":{"output":"","success":false,"error":"no"}}`, hook.Stop, `{"result":"","success":false,"error":"no"}`},
		{"a result at tool.before stops the chain", onResolveTool, hook.ToolBefore, tool,
			`{"result":{"output":"mine","success":true,"error":null}}`, hook.Stop, `{"result":"mine","success":true}`},
		{"the changed fields of a result are set", onToolResult, hook.ToolAfter, after,
			`{"result":{"output":"new","success":false,"error":"no"}}`, hook.Continue, `{"result":"new","success":false,"error":"no"}`},
		{"a result that is the same sets nothing", onToolResult, hook.ToolAfter, `{"tool":"t","result":{"a":1}}`,
			`{"result":{"output":"{\"a\":1}","success":true,"error":null}}`, hook.Continue, `{}`},
		{"an error may be removed", onToolResult, hook.ToolAfter, `{"tool":"t","result":"","success":false,"error":"no"}`,
			`{"result":{"output":"","success":true,"error":null}}`, hook.Continue, `{"success":true,"error":null}`},
		{"a text", onFinal, hook.TurnFinal, `{"text":"a"}`, `{"text":"b"}`, hook.Continue, `{"text":"b"}`},
		{"a model's reply", onFinal, hook.ModelReply, `{"text":"a"}`, `{"text":"b"}`, hook.Continue, `{"text":"b"}`},
		{"at a point without a text field a text sets nothing", onFinal, hook.JobSink, `{"message":"a"}`, `{"text":"b"}`, hook.Continue, `{}`},
		{"a command's name, args and flags", onToolCall, hook.CommandBefore, command,
			`{"call":{"tool_name":"hg","tool_call_id":"","input":{"args":["pull"],"flags":{}}}}`, hook.Continue, `{"command":"hg","args":["pull"],"flags":{}}`},
		{"args and flags of another shape are ignored", onToolCall, hook.CommandBefore, command,
			`{"call":{"tool_name":"git","tool_call_id":"","input":{"args":"pull","flags":[],"more":1}}}`, hook.Continue, `{}`},
		{"an answer in a command's place", onResolveTool, hook.CommandBefore, command,
			`{"result":{"output":"mine","success":true,"error":null}}`, hook.Stop, `{"result":"mine"}`},
		{"a program's stdout", onToolResult, hook.CommandAfter, `{"command":"ls","result":{"stdout":"a","stderr":"","exit_code":0}}`,
			`{"result":{"output":"b","success":true,"error":null}}`, hook.Continue, `{"result":{"stdout":"b","stderr":"","exit_code":0}}`},
		{"another result of a command", onToolResult, hook.CommandAfter, `{"command":"ls","result":"a"}`,
			`{"result":{"output":"b","success":true,"error":null}}`, hook.Continue, `{"result":"b"}`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			tr, err := connection(c.hook, c.point)
			if err != nil {
				t.Fatal(err)
			}
			payload := object(t, c.payload)
			reply, err := tr.reply(payload, tr.given(payload), plugtest.Result(c.answer))
			if err != nil || reply.Verdict != c.verdict || string(reply.Set.JSON()) != c.set {
				t.Errorf("%s %s, %v; want %s %s", reply.Verdict, reply.Set.JSON(), err, c.verdict, c.set)
			}
		})
	}
	t.Run("a note is for the trace", func(t *testing.T) {
		for answer, set := range map[string]string{`{"note":"n"}`: `{}`, `{"note":"n","text":"b"}`: `{"text":"b"}`} {
			reply, err := native[4].reply(nil, nil, plugtest.Result(answer))
			if err != nil || len(reply.Notes) != 1 || reply.Notes[0] != "n" || string(reply.Set.JSON()) != set {
				t.Errorf("%s: %+v, %v", answer, reply, err)
			}
		}
	})
	t.Run("an answer that is not an object is garbled", func(t *testing.T) {
		if _, err := native[1].reply(nil, nil, plugtest.Result(`[1]`)); err == nil {
			t.Error("no error")
		}
	})
}

func TestTheContextIsTakenFromThePayload(t *testing.T) {
	for _, c := range []struct {
		hook          string
		point         hook.Point
		payload, want string
	}{
		{onBegin, hook.TurnBegin, `{"session_id":"s","working_dir":"/w","user_text":"hi"}`, `{"session_id":"s","working_dir":"/w","user_text":"hi"}`},
		{onFinal, hook.TurnFinal, `{"text":"x","session_id":"s"}`, `{"session_id":"s"}`},
		{onFinal, hook.TurnFinal, `{"text":"x","session_id":7}`, ``},
		{onBegin, hook.CommandBefore, `{"command":"git","args":["push","now"]}`, `{"user_text":"git push now"}`},
		{onBegin, hook.CommandBefore, `{"command":"git","args":[7]}`, `{"user_text":"git"}`},
	} {
		tr, err := connection(c.hook, c.point)
		if err != nil {
			t.Fatal(err)
		}
		p := &plugin{path: "/p.py", limit: handlerLimit}
		params := object(t, string(p.params(hook.WithRequest(t.Context(), "r"), tr, object(t, c.payload), nil)))
		if got := string(params.Get("context")); got != c.want {
			t.Errorf("%s at %s: context %s, want %s", c.hook, c.point, got, c.want)
		}
		if got := string(params[:4].JSON()); got != `{"plugin":"/p.py","hook":"`+c.hook+`","request":"r","limit":5.0}` {
			t.Errorf("params %s", got)
		}
	}
}

func TestOnFinalIsSkippedOnEmptyText(t *testing.T) {
	s := only(t, "@on_final\nasync def f(ctx, text): return 'something'\n")
	for _, payload := range []string{`{"text":""}`, `{"text":null}`, `{}`} {
		if out := s.fire("r", hook.TurnFinal, payload); len(out.Steps) != 0 {
			t.Errorf("%s: asked, %s", payload, out.Payload)
		}
	}
}

func TestConnections(t *testing.T) {
	s := only(t, `
@on_tool_call
async def c(ctx, call): return ToolCall(call.tool_name, call.tool_call_id, {**call.input, "args": [*call.input["args"], ctx.user_text]})
@on_tool_result
async def r(ctx, call, result): return ToolResult(call.tool_call_id, call.tool_name, result.output.upper())
`)
	t.Run("a command is rewritten", func(t *testing.T) {
		s.connect(onToolCall, hook.CommandBefore)
		out := s.fire("r", hook.CommandBefore, `{"command":"echo","args":["hi"],"flags":{}}`)
		if want := `{"command":"echo","args":["hi","echo hi"],"flags":{}}`; string(out.Payload) != want {
			t.Errorf("payload %s, %v", out.Payload, step(t, out).Err)
		}
	})
	t.Run("what a command does not have is noted", func(t *testing.T) {
		was := hook.Object{{Name: "call", Value: []byte(`{"tool_name":"x","input":{"args":[],"flags":{}}}`)}}
		now := hook.Object{{Name: "call", Value: []byte(`{"tool_name":"x","input":{"args":"a","flags":{},"timeout":30}}`)}}
		reply := changeCommand(nil, was, now)
		if len(reply.Set) != 0 || len(reply.Notes) != 2 || !strings.HasPrefix(reply.Notes[1], `"timeout" in its input is ignored: `) {
			t.Errorf("reply %+v", reply)
		}
	})
	t.Run("a field that the input of a command lacks keeps its value, and is noted", func(t *testing.T) {
		was := hook.Object{{Name: "call", Value: []byte(`{"tool_name":"x","tool_call_id":"","input":{"args":[],"flags":{"a":"1"}}}`)}}
		now := hook.Object{{Name: "call", Value: []byte(`{"tool_name":"x","tool_call_id":"7","input":{}}`)}}
		reply := changeCommand(nil, was, now)
		want := []string{"the tool_call_id of its answer is ignored: a command has none",
			`its input lacks "flags", which stay as they were; to remove them, return an empty dict`}
		if len(reply.Set) != 0 || !slices.Equal(reply.Notes, want) {
			t.Errorf("reply %+v", reply)
		}
	})
	t.Run("a result in place of a command is its output", func(t *testing.T) {
		reply := resolveCommand(nil, nil, hook.Object{{Name: "result", Value: []byte(`{"output":"done","success":true,"error":"odd"}`)}})
		if reply.Verdict != hook.Stop || string(reply.Set.JSON()) != `{"result":"done"}` || len(reply.Notes) != 1 {
			t.Errorf("reply %+v", reply)
		}
	})
	t.Run("a result without success refuses the command", func(t *testing.T) {
		for answer, why := range map[string]string{
			`{"output":"not here","success":false,"error":null}`: "not here",
			`{"output":"","success":false,"error":"not here"}`:   "not here",
			`{"output":"","success":false,"error":null}`:         "",
		} {
			reply := resolveCommand(nil, nil, hook.Object{{Name: "result", Value: []byte(answer)}})
			if reply.Verdict != hook.Deny || reply.Reason != why || len(reply.Set) != 0 {
				t.Errorf("%s: reply %+v", answer, reply)
			}
		}
	})
	t.Run("an answer at a point that takes none is noted", func(t *testing.T) {
		s.connect(onToolResult, hook.CommandDone)
		out := s.fire("r", hook.CommandDone, `{"command":"echo","result":"hi"}`)
		if notes := step(t, out).Notes; len(notes) != 1 || notes[0] != "its answer is ignored: command.done takes none" {
			t.Errorf("notes %q", notes)
		}
	})
	t.Run("a command's output is transformed", func(t *testing.T) {
		s.connect(onToolResult, hook.CommandAfter)
		out := s.fire("r", hook.CommandAfter, `{"command":"echo","result":{"stdout":"hi","stderr":"","exit_code":0}}`)
		if want := `{"command":"echo","result":{"stdout":"HI","stderr":"","exit_code":0}}`; string(out.Payload) != want {
			t.Errorf("payload %s, %v", out.Payload, step(t, out).Err)
		}
	})
	connector := s.plugins[0].(dialect.Connector)
	t.Run("the error of a connection names the points where the hook can be connected", func(t *testing.T) {
		_, err := connector.Connect(onToolCall, hook.JobPreflight)
		if err == nil || err.Error() != "python hook on_tool_call cannot be called at job.preflight; connect it to tool.before, command.validate, command.before" {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a hook that the plugin does not have", func(t *testing.T) {
		if _, err := connector.Connect("on_tool_cal", hook.CommandBefore); err == nil || !strings.Contains(err.Error(), onToolCall) {
			t.Errorf("error %v", err)
		}
	})
}

func FuzzTranslate(tf *testing.F) {
	f := variants.Of(tf)
	f.Add(`{"tool":"t","call_id":"1","arguments":{"a":1},"result":"r","text":"x","command":"c","args":["a"],"flags":{}}`,
		`{"call":{"tool_name":"t","tool_call_id":"1","input":{}},"result":{"output":"","success":true,"error":null},"text":"x"}`)
	f.Add(`{"result":{"stdout":1,"exit_code":"x"},"arguments":"{"}`, `{"call":[],"result":7}`)
	f.Add(`{}`, `null`)
	f.Fuzz(func(t *testing.T, payload, answer string) {
		p, err := rawjson.Parse([]byte(payload))
		if err != nil || rawjson.Check([]byte(answer)) != nil {
			return
		}
		for _, list := range [][]translation{native, elsewhere} {
			for i := range list {
				given := list[i].given(p)
				if err := rawjson.Check(given.JSON()); err != nil {
					t.Errorf("%s at %s: given %s: %v", list[i].hook, list[i].point, given.JSON(), err)
				}
				reply, err := list[i].reply(p, given, plugtest.Result(rawjson.Compact([]byte(answer))))
				if err == nil && rawjson.Check(reply.Set.JSON()) != nil {
					t.Errorf("%s at %s: set %s", list[i].hook, list[i].point, reply.Set.JSON())
				}
			}
		}
	})
}
