package dotagent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// sent returns what a kind is sent at a point.
func sent(t *testing.T, kind string, point hook.Point, payload, config string) string {
	t.Helper()
	tr, err := connection(kind, point)
	if err != nil {
		t.Fatal(err)
	}
	o, err := rawjson.Parse([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := tr.invocation(o, json.RawMessage(config))
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// TestPayload: a payload has the keys and the order of docs/protocols/dotagent.md, rows D30 and
// D31.
func TestPayload(t *testing.T) {
	for _, c := range []struct {
		rule, kind            string
		point                 hook.Point
		payload, config, want string
	}{
		{"message is null for preflight, never absent", kindPreflight, hook.JobPreflight,
			`{"agent":"a","schedule":"s","message":"m","event":"success"}`, "",
			`{"kind":"preflight","agent":"a","schedule":"s","event":"preflight","message":null,"config":{}}`},
		{"a sink's event is success", kindSink, hook.JobSink,
			`{"config":{"b": 2},"message":"m","schedule":"s","agent":"a"}`, `{"a":1}`,
			`{"kind":"sink","agent":"a","schedule":"s","event":"success","message":"m","config":{"b":2}}`},
		{"a sink gets another event if the payload has one", kindSink, hook.JobSink,
			`{"agent":"a","schedule":"s","event":"recovered","message":"m"}`, "",
			`{"kind":"sink","agent":"a","schedule":"s","event":"recovered","message":"m","config":{}}`},
		{"the event's config replaces the plugin's", kindNotify, hook.JobNotify,
			`{"agent":"a","schedule":"s","event":"stale","message":"m","config":{"b":2}}`, `{"a":1}`,
			`{"kind":"notify","agent":"a","schedule":"s","event":"stale","message":"m","config":{"b":2}}`},
		{"the plugin's config is sent if the event has none", kindNotify, hook.JobNotify,
			`{"agent":"a","schedule":"s","event":"stale","message":"m","config":null}`, `{"a":1}`,
			`{"kind":"notify","agent":"a","schedule":"s","event":"stale","message":"m","config":{"a":1}}`},
		{"missing fields are empty", kindNotify, hook.JobNotify, `{}`, "",
			`{"kind":"notify","agent":"","schedule":"","event":"success","message":"","config":{}}`},
		{"a value that is not a string is serialised", kindSink, hook.JobSink, `{"agent":7,"message":{"a": [1]}}`, "",
			`{"kind":"sink","agent":"7","schedule":"","event":"success","message":"{\"a\":[1]}","config":{}}`},
		{"a config that is not an object is an error", kindSink, hook.JobSink, `{"config":"x"}`, "", "the event's config is not an object"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := sent(t, c.kind, c.point, c.payload, c.config); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestConnections: at each point to which a kind can be connected, the agent is the host and the
// schedule is the point.
func TestConnections(t *testing.T) {
	for _, c := range []struct {
		kind                    string
		point                   hook.Point
		payload, event, message string
	}{
		{kindPreflight, hook.TurnBegin, `{"user_text":"hi"}`, "preflight", `null`},
		{kindPreflight, hook.ToolBefore, `{"tool":"shell"}`, "preflight", `null`},
		{kindPreflight, hook.CommandValidate, `{"command":"git"}`, "preflight", `null`},
		{kindPreflight, hook.CommandBefore, `{"command":"git"}`, "preflight", `null`},

		{kindSink, hook.TurnFinal, `{"text":"the answer"}`, "success", `"the answer"`},
		{kindSink, hook.TurnDone, `{"text":"","error":"no model"}`, "attempt_failed", `""`},
		{kindSink, hook.ToolAfter, `{"tool":"shell","result":"out","success":true}`, "success", `"out"`},
		{kindSink, hook.CommandAfter, `{"command":"ls","result":{"stdout":"a\nb","stderr":"","exit_code":0}}`, "success", `"a\nb"`},
		{kindSink, hook.CommandAfter, `{"command":"ls","result":{"stdout":"","stderr":"no","exit_code":2}}`, "attempt_failed", `""`},
		{kindSink, hook.CommandDone, `{"command":"todo.add","result":{"id":7}}`, "success", `"{\"id\":7}"`},
		{kindSink, hook.CommandDone, `{"command":"git","result":null,"error":"git was refused by plugin p"}`, "attempt_failed", `""`},
		{kindSink, hook.SessionIdle, `{"transcript":"t"}`, "success", `"t"`},
		{kindSink, hook.SessionIdle, `{"transcript":[{"role":"user"}]}`, "success", `"[{\"role\":\"user\"}]"`},

		{kindNotify, hook.TurnDone, `{"text":"the answer","error":null}`, "success", `"the answer"`},
		{kindNotify, hook.TurnDone, `{"text":"","error":"no model"}`, "attempt_failed", `"the turn failed: no model"`},
		{kindNotify, hook.ToolAfter, `{"tool":"shell","success":true}`, "success", `"shell has run"`},
		{kindNotify, hook.ToolAfter, `{"tool":"shell","success":false,"error":"denied"}`, "attempt_failed", `"shell failed: denied"`},
		{kindNotify, hook.ToolAfter, `{"tool":"shell","success":false,"result":"no such file"}`, "attempt_failed", `"shell failed: no such file"`},
		{kindNotify, hook.CommandDone, `{"command":"git","result":{"exit_code":128}}`, "attempt_failed", `"git failed with exit code 128"`},
		{kindNotify, hook.CommandDone, `{"command":"git","result":{"exit_code":0}}`, "success", `"git has run"`},
		{kindNotify, hook.CommandDone, `{"command":"git","result":null,"error":"git was refused by plugin p"}`, "attempt_failed", `"git was refused by plugin p"`},
		{kindNotify, hook.CommandDone, `{"command":"100%d"}`, "success", `"100%d has run"`},
		{kindNotify, hook.SessionIdle, `{}`, "success", `"the session has gone quiet"`},
		{kindNotify, hook.SessionEnd, `{"session_id":"s1"}`, "success", `"session s1 has ended"`},
	} {
		t.Run(c.kind+" at "+string(c.point), func(t *testing.T) {
			want := `{"kind":"` + c.kind + `","agent":"patchbay","schedule":"` + string(c.point) +
				`","event":"` + c.event + `","message":` + c.message + `,"config":{"a":1}}`
			if got := sent(t, c.kind, c.point, c.payload, `{"a":1}`); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
	t.Run("at the other points of a job the payload has the job's agent and schedule", func(t *testing.T) {
		payload := `{"agent":"a","schedule":"s","event":"given_up","message":"m","config":{"b":2}}`
		want := `{"kind":"sink","agent":"a","schedule":"s","event":"given_up","message":"m","config":{"b":2}}`
		if got := sent(t, kindSink, hook.JobNotify, payload, ""); got != want {
			t.Errorf("got %s", got)
		}
		if got := sent(t, kindNotify, hook.JobSink, payload, ""); got != strings.Replace(want, "sink", "notify", 1) {
			t.Errorf("got %s", got)
		}
	})
}

// TestHooksThatCannotBeConnected: the error names the points to which the hook can be connected.
func TestHooksThatCannotBeConnected(t *testing.T) {
	_, err := connection(kindPreflight, hook.ToolAfter)
	want := "dotagent hook preflight cannot be called at tool.after; connect it to job.preflight, turn.begin, tool.before, command.validate, command.before"
	if err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
	p := fake(t, "needy").open()
	if _, err := p.Connect(kindPreflight, hook.TurnBegin); err == nil || !strings.Contains(err.Error(), `plugin needy has no hook "preflight"; known here: sink`) {
		t.Errorf("error %v", err)
	}
	if _, err := p.Connect(kindSink, hook.PromptSend); err == nil || !strings.Contains(err.Error(), "connect it to job.sink, turn.final") {
		t.Errorf("error %v", err)
	}
}

// TestConnectedPreflight: a connected preflight refuses with its reason and suggestion.
func TestConnectedPreflight(t *testing.T) {
	p := fake(t, "refuse").open()
	for _, point := range []hook.Point{hook.TurnBegin, hook.ToolBefore, hook.CommandBefore} {
		h, err := p.Connect(kindPreflight, point)
		if err != nil {
			t.Fatal(err)
		}
		out := fire(t, point, `{"tool":"shell"}`, h)
		if out.Verdict != hook.Deny || out.Reason != "VPN is down" || out.Suggest != "connect the VPN" {
			t.Errorf("%s: %+v", point, out)
		}
	}
}

// TestConnectedSink: a connected sink that fails does not change the chain.
func TestConnectedSink(t *testing.T) {
	h, err := fake(t, "refuse").open().Connect(kindSink, hook.TurnFinal)
	if err != nil {
		t.Fatal(err)
	}
	out := fire(t, hook.TurnFinal, `{"text":"the answer"}`, h)
	if out.Verdict != hook.Continue || string(out.Payload) != `{"text":"the answer"}` || step(t, out).Err == nil {
		t.Errorf("%s, %s, %v", out.Verdict, out.Payload, out.Steps[0].Err)
	}
}
