package kaged

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/wire"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// someTools has tools of the plugin fake. A tool's method is its full name, such as fake.add.
const someTools = `
tools:
  - {name: add, description: adds, parameters_schema: {type: object, required: [text], properties: {text: {type: string}, n: {type: integer}}}}
  - {name: text, description: a string, parameters_schema: {type: object}}
  - {name: refuse, description: refuses, parameters_schema: {type: object}}
  - {name: hang, description: hangs, parameters_schema: {type: object}}
`

// toolRig returns a rig with a plugin that is called fake.
func toolRig(t *testing.T, more string) *rig {
	t.Helper()
	return newRig(t, "fake", more)
}

// TestToolParams: a tool is called with its arguments and `_context` in params:
// docs/protocols/kaged.md, row K70.
func TestToolParams(t *testing.T) {
	r := toolRig(t, someTools)
	r.runtime.Env.Vars = append(r.runtime.Env.Vars, "USER=ada")
	p := r.open()
	result, err := p.CallTool(t.Context(), "fake.add", json.RawMessage(`{ "text": "x", "n": 2, "_context": {"operator_id": "mallory"} }`))
	if err != nil || !result.Success || result.Error != "" || result.Tool != "fake.add" {
		t.Fatalf("result %+v, %v", result, err)
	}
	request := regexp.MustCompile(`"request_id":"[0-9a-f]{32}"`)
	got := request.ReplaceAllString(result.Result, `"request_id":"R"`)
	want := `{"text":"x","n":2,"_context":{"operator_id":"ada","project_id":"test","agent_path":"primary","session_id":"` + projectSession(r.runtime.ProjectRoot) + `",` +
		`"request_id":"R","project_root":` + string(rawjson.String(r.runtime.ProjectRoot)) + `}}`
	if got != want {
		t.Errorf("the plugin got %s, want %s", got, want)
	}
	if all := r.received(); all[len(all)-1].Method != "fake.add" {
		t.Errorf("method %s", all[len(all)-1].Method)
	}
}

func TestToolResults(t *testing.T) {
	r := toolRig(t, someTools)
	p := r.open()
	for _, tc := range []struct {
		rule, tool, arguments string
		want                  dialect.ToolResult
		sent                  bool
	}{
		{"a string is returned unchanged", "fake.text", `{}`, dialect.ToolResult{Success: true, Result: "plain text"}, true},
		{"no arguments are an empty object", "fake.text", ``, dialect.ToolResult{Success: true, Result: "plain text"}, true},
		{"an RPC error is the message", "fake.refuse", `{}`, dialect.ToolResult{Error: "I would rather not"}, true},
		{"arguments that do not fit are not sent", "fake.add", `{"n":"two"}`, dialect.ToolResult{Error: "arguments.text: is required"}, false},
		{"all arguments that do not fit are reported", "fake.add", `{"n":"two"}`, dialect.ToolResult{Error: "arguments.n"}, false},
		{"arguments must be an object", "fake.add", `["x"]`, dialect.ToolResult{Error: "not a JSON object"}, false},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			before := len(r.received())
			got, err := p.CallTool(t.Context(), tc.tool, json.RawMessage(tc.arguments))
			if err != nil {
				t.Fatal(err)
			}
			if got.Success != tc.want.Success || !strings.Contains(got.Error, tc.want.Error) || tc.want.Success && got.Result != tc.want.Result {
				t.Errorf("result %+v, want %+v", got, tc.want)
			}
			if sent := len(r.received()) > before; sent != tc.sent {
				t.Errorf("sent: %t", sent)
			}
		})
	}
}

func TestToolErrors(t *testing.T) {
	r := toolRig(t, someTools)
	r.settings.ToolTimeout = 100 * time.Millisecond
	p := r.open()
	if _, err := p.CallTool(t.Context(), "fake.hang", nil); !errors.Is(err, hook.Timeout) || !strings.Contains(err.Error(), "plugin fake (kaged) fake.hang: timed out after 100ms") {
		t.Errorf("error %v", err)
	}
	if _, err := p.CallTool(t.Context(), "fake.nothing", nil); err == nil || !strings.Contains(err.Error(), "fake.add, fake.text") {
		t.Errorf("error %v does not list the tools", err)
	}
}

func TestMethods(t *testing.T) {
	r := newRig(t, "echo", "")
	p := r.open()
	t.Run("a declared method is called, its result is raw", func(t *testing.T) {
		result, err := p.CallMethod(t.Context(), "fake.echo", json.RawMessage(`{ "a": [1, 2] }`))
		if err != nil || string(result) != `{"a":[1,2]}` {
			t.Errorf("result %s, %v", result, err)
		}
	})
	t.Run("params may be a list", func(t *testing.T) {
		if result, err := p.CallMethod(t.Context(), "fake.echo", json.RawMessage(`[1, 2]`)); err != nil || string(result) != `[1,2]` {
			t.Errorf("result %s, %v", result, err)
		}
	})
	t.Run("params must be an object or a list", func(t *testing.T) {
		for _, params := range []string{`7`, `"x"`, `{`, `{} {}`} {
			if _, err := p.CallMethod(t.Context(), "fake.echo", json.RawMessage(params)); err == nil || !strings.Contains(err.Error(), "params") {
				t.Errorf("%s: error %v", params, err)
			}
		}
	})
	t.Run("an undeclared method is an error that lists the declared", func(t *testing.T) {
		for _, method := range []string{"fake.surprise", "shutdown", "kaged.hook.on_session_start"} {
			if _, err := p.CallMethod(t.Context(), method, nil); err == nil || !strings.Contains(err.Error(), "fake.echo, fake.environment") {
				t.Errorf("%s: error %v", method, err)
			}
		}
	})
	t.Run("an RPC error is a refusal", func(t *testing.T) {
		_, err := p.CallMethod(t.Context(), "fake.refuse", nil)
		rpc, ok := errors.AsType[*wire.RPCError](err)
		if !errors.Is(err, hook.Refused) || !ok || rpc.Message != "I would rather not" || !strings.Contains(err.Error(), "plugin echo (kaged) fake.refuse") {
			t.Errorf("error %v", err)
		}
	})
}

// TestCallsMayBeUnderWayAtOnce: replies are matched by id, not by order: docs/protocols/kaged.md,
// row K77.
func TestCallsMayBeUnderWayAtOnce(t *testing.T) {
	p := newRig(t, "out-of-order", "").open()
	var calls sync.WaitGroup
	for _, params := range []string{`{"n":1}`, `{"n":2}`} {
		calls.Go(func() {
			if result, err := p.CallMethod(t.Context(), "fake.echo", json.RawMessage(params)); err != nil || string(result) != params {
				t.Errorf("result %s, %v; want %s", result, err, params)
			}
		})
	}
	calls.Wait()
}

// TestTooLarge: a message over the limit fails, and the plugin goes on: docs/protocols/kaged.md,
// row K78.
func TestTooLarge(t *testing.T) {
	p := newRig(t, "echo", "").open()
	big := json.RawMessage(`{"text":"` + strings.Repeat("x", maxMessage) + `"}`)
	_, err := p.CallMethod(t.Context(), "fake.echo", big)
	if !errors.Is(err, hook.TooLarge) || !strings.Contains(err.Error(), "plugin echo (kaged)") {
		t.Errorf("error %v", err)
	}
	if len(err.Error()) > 1000 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
	fits := json.RawMessage(`{"text":"` + strings.Repeat("x", maxMessage-1000) + `"}`)
	if result, err := p.CallMethod(t.Context(), "fake.echo", fits); err != nil || len(result) != len(fits) {
		t.Errorf("a message within the limit came back with %d of %d bytes, %v", len(result), len(fits), err)
	}
	if st := p.Status(); st.Restarts != 0 || st.Health != "ok" {
		t.Errorf("status %+v", st)
	}
}

// TestHooks: the plugin gets the event as params, and the trace has params and result.
func TestHooks(t *testing.T) {
	r := newRig(t, "echo", "hooks: [post_compact, on_session_start, pre_compact, on_session_idle]\nhook_timeout_sec: 7")
	p := r.open()
	hooks := p.Hooks()
	if len(hooks) != 4 {
		t.Fatalf("hooks %+v", hooks)
	}
	for _, h := range hooks {
		if h.Plugin != "echo" || h.Dialect != "kaged" || h.Timeout != 7*time.Second || h.Observer != (h.Name == "pre_compact") {
			t.Errorf("hook %+v", h)
		}
	}
	start := hooks[0]
	payload := parse(t, `{"session_id":"s1","inject":"hello"}`)
	reply, err := start.Call(t.Context(), &hook.Event{Point: start.Point, Payload: payload})
	const want = `{"session_id":"s1","_context":{"operator_id":"local","project_id":"test","agent_path":"primary","session_id":"s1","request_id":"`
	if err != nil || !strings.HasPrefix(string(reply.Sent), want) || string(reply.Received) != string(reply.Sent) {
		t.Errorf("sent %s, received %s, %v", reply.Sent, reply.Received, err)
	}
	if all := r.received(); all[len(all)-1].Method != "kaged.hook.on_session_start" {
		t.Errorf("method %s", all[len(all)-1].Method)
	}
}

func TestSettingsBoundAHook(t *testing.T) {
	r := newRig(t, "echo", "hooks: [on_session_idle]")
	r.settings.Timeout = time.Minute
	if hooks := r.open().Hooks(); hooks[0].Timeout != time.Minute {
		t.Errorf("timeout %s", hooks[0].Timeout)
	}
}

// TestConversationsAsText: with messages = "text" a hook that stores messages gets one text. The
// compactor still gets messages, and the payload stays as it is.
func TestConversationsAsText(t *testing.T) {
	r := newRig(t, "echo", "hooks: [on_session_idle, post_compact, pre_compact]\nroles: [compactor]")
	r.settings.TextMessages = true
	const talk = `[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"1","name":"ls","arguments":{"path":"."}}]},` +
		`{"role":"tool","name":"ls","content":"a.txt"},{"role":"system","content":"be brief"},7]`
	const text = `"**Operator:** hi\n\n**Agent calls ls:** {\"path\":\".\"}\n\n**Tool ls:** a.txt\n\n**System:** be brief\n\n7"`
	for _, h := range r.open().Hooks() {
		name, payload, want := h.Name, `{"messages":[{"role":"user","content":"hi"}]}`, `{"messages":[{"role":"user","content":"hi"}],"_context":{`
		switch name {
		case "on_session_idle":
			payload, want = `{"transcript":`+talk+`}`, `{"transcript":`+text+`,"_context":{`
		case "post_compact":
			payload = `{"messages_being_compacted":` + talk + `,"messages_remaining":[],"strategy":"drop"}`
			want = `{"messages_being_compacted":` + text + `,"messages_remaining":"","strategy":"drop","_context":{`
		}
		ev := &hook.Event{Point: h.Point, Payload: parse(t, payload)}
		reply, err := h.Call(t.Context(), ev)
		if err != nil || !strings.HasPrefix(string(reply.Sent), want) {
			t.Errorf("%s got %s, %v", name, reply.Sent, err)
		}
		if after := ev.Payload.JSON(); string(after) != payload {
			t.Errorf("%s: the payload was modified: %s", name, after)
		}
	}
}

func TestTheCompactorIsNotAnObserver(t *testing.T) {
	r := newRig(t, "echo", "hooks: [pre_compact]\nroles: [compactor]")
	h := r.open().Hooks()[0]
	if h.Observer {
		t.Error("the compactor is an observer")
	}
	reply, err := h.Call(t.Context(), &hook.Event{Point: h.Point, Payload: parse(t, `{"messages":[{"role":"user","content":"hi"}]}`)})
	if err != nil || reply.Verdict != hook.Stop || string(reply.Set.JSON()) != `{"messages":[{"role":"user","content":"hi"}]}` {
		t.Errorf("reply %+v, %v", reply, err)
	}
}

func TestConnect(t *testing.T) {
	p := newRig(t, "echo", "hooks: [on_session_idle]").open()
	h, err := p.Connect("on_session_idle", hook.TurnDone)
	if err != nil || h.Point != hook.TurnDone || h.Name != "on_session_idle" {
		t.Fatalf("hook %+v, %v", h, err)
	}
	reply, err := h.Call(t.Context(), &hook.Event{Point: h.Point, Payload: parse(t, `{"text":"bye"}`)})
	if err != nil || !strings.HasPrefix(string(reply.Sent), `{"transcript":"bye","_context":{`) {
		t.Errorf("sent %s, %v", reply.Sent, err)
	}
	if _, err := p.Connect("on_sesion_idle", hook.TurnDone); err == nil || !strings.Contains(err.Error(), `did you mean "on_session_idle"?`) {
		t.Errorf("a misspelt hook: %v", err)
	}
	if _, err := p.Connect("on_session_idle", hook.ToolBefore); err == nil {
		t.Error("a point without a meaning was connected")
	}
}

// TestStorageRequests: a plugin's requests reach its own storage, if its capabilities allow them.
func TestStorageRequests(t *testing.T) {
	ask := func(p *plugin, method, params string) string {
		t.Helper()
		result, err := p.CallMethod(t.Context(), "fake.ask", json.RawMessage(`{"method":"`+method+`","params":`+params+`}`))
		if err != nil {
			t.Fatal(err)
		}
		return string(result)
	}
	t.Run("with both capabilities", func(t *testing.T) {
		r := newRig(t, "echo", `capabilities: ["kaged:storage:read", "kaged:storage:write"]`)
		r.runtime.Storage = &memory{}
		p := r.open()
		for _, step := range []struct{ method, params, want string }{
			{"kaged.storage.put", `{"key":"k","value":{"n":1}}`, `"result":{}`},
			{"kaged.storage.get", `{"key":"k"}`, `"result":{"value":{"n":1}}`},
			{"kaged.storage.list", `{"prefix":""}`, `"result":{"keys":["k"]}`},
			{"kaged.storage.delete", `{"key":"k"}`, `"result":{}`},
			{"kaged.storage.get", `{"key":"k"}`, `"result":{"value":null}`},
			{"kaged.storage.get", `{}`, `"Code":-32602`},
			{"kaged.surprise", `{}`, `"Code":-32601`},
		} {
			if got := ask(p, step.method, step.params); !strings.Contains(strings.ToLower(got), strings.ToLower(step.want)) {
				t.Errorf("%s %s: %s, want %s", step.method, step.params, got, step.want)
			}
		}
	})
	t.Run("with the capability to read only", func(t *testing.T) {
		r := newRig(t, "echo", `capabilities: ["kaged:storage:read"]`)
		store := &memory{}
		r.runtime.Storage = store
		p := r.open()
		if got := ask(p, "kaged.storage.put", `{"key":"k","value":1}`); !strings.Contains(got, "kaged:storage:write") || !strings.Contains(got, "-32001") {
			t.Errorf("put: %s", got)
		}
		if len(store.values) > 0 {
			t.Error("the value was stored nevertheless")
		}
	})
	t.Run("without storage in the host", func(t *testing.T) {
		r := newRig(t, "echo", `capabilities: ["kaged:storage:read"]`)
		p := r.open()
		if got := ask(p, "kaged.storage.get", `{"key":"k"}`); !strings.Contains(got, "has no storage") {
			t.Errorf("get: %s", got)
		}
		if first := r.received()[0]; !strings.Contains(string(first.Params), `"storage_available":false`) {
			t.Errorf("initialize %s", first.Params)
		}
	})
}
