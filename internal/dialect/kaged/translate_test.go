package kaged

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
	"github.com/patchbay-dev/patchbay/rawjson"
)

func parse(t *testing.T, s string) hook.Object {
	t.Helper()
	o, err := rawjson.Parse([]byte(s))
	if err != nil {
		t.Fatalf("parse %s: %v", s, err)
	}
	return o
}

func translationOf(t *testing.T, name string, p hook.Point) *translation {
	t.Helper()
	w, err := connection(name, p)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestParams: the event's fields are the params, unchanged.
func TestParams(t *testing.T) {
	for _, tc := range []struct {
		rule, hook    string
		point         hook.Point
		payload, want string
	}{
		{"on_session_start gets the session's fields", "on_session_start", hook.SessionStart,
			`{"session_id":"s1","working_dir":"/w","project_root":"/p"}`,
			`{"session_id":"s1","working_dir":"/w","project_root":"/p"}`},
		{"what an earlier plugin injected is not sent", "on_session_start", hook.SessionStart,
			`{"session_id":"s1","inject":"from another plugin"}`, `{"session_id":"s1"}`},
		{"on_session_idle gets the transcript", "on_session_idle", hook.SessionIdle,
			`{"transcript":"hello"}`, `{"transcript":"hello"}`},
		{"extra fields pass through", "on_session_idle", hook.SessionIdle,
			`{"transcript":"hello","session_id":"s1"}`, `{"transcript":"hello","session_id":"s1"}`},
		{"pre_compact gets messages, strategy and trigger", "pre_compact", hook.CompactBefore,
			`{"messages":[{"role":"user"}],"strategy":"summarize","trigger":"manual","summary":"x"}`,
			`{"messages":[{"role":"user"}],"strategy":"summarize","trigger":"manual"}`},
		{"post_compact gets the two halves of the transcript", "post_compact", hook.CompactAfter,
			`{"messages_being_compacted":[1],"messages_remaining":[2],"strategy":"drop","trigger":"auto","retain":[],"inject":""}`,
			`{"messages_being_compacted":[1],"messages_remaining":[2],"strategy":"drop","trigger":"auto"}`},
		{"connected to turn.done the text is the transcript", "on_session_idle", hook.TurnDone,
			`{"text":"done","duration":3}`, `{"transcript":"done","duration":3}`},
		{"connected to job.sink the message is the transcript", "on_session_idle", hook.JobSink,
			`{"agent":"a","message":"out"}`, `{"agent":"a","transcript":"out"}`},
		{"connected to prompt.context the gathered context is not sent", "on_session_start", hook.PromptContext,
			`{"user_message":"hi","dynamic_context":"x"}`, `{"user_message":"hi"}`},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			payload := parse(t, tc.payload)
			got := translationOf(t, tc.hook, tc.point).ask(payload).JSON()
			if string(got) != tc.want {
				t.Errorf("params %s, want %s", got, tc.want)
			}
			if after := payload.JSON(); string(after) != tc.payload {
				t.Errorf("the payload was modified: %s", after)
			}
		})
	}
}

// TestAnswers has one subtest for each rule about results.
func TestAnswers(t *testing.T) {
	for _, tc := range []struct {
		rule, hook  string
		point       hook.Point
		result, set string
		verdict     hook.Verdict
		note        bool
	}{
		{rule: "null is no opinion", hook: "on_session_start", point: hook.SessionStart, result: `null`},
		{rule: "an empty object injects nothing", hook: "on_session_start", point: hook.SessionStart, result: `{}`},
		{rule: "an empty inject injects nothing", hook: "on_session_start", point: hook.SessionStart, result: `{"inject":""}`},
		{rule: "inject is set", hook: "on_session_start", point: hook.SessionStart, result: `{"inject":"a\nb"}`, set: `{"inject":"a\nb"}`},
		{rule: "unknown fields are noted and ignored", hook: "on_session_start", point: hook.SessionStart,
			result: `{"inject":"x","mood":"good"}`, set: `{"inject":"x"}`, note: true},
		{rule: "a misspelt field is noted", hook: "on_session_start", point: hook.PromptContext, result: `{"injct":"x"}`, note: true},
		{rule: "a misspelt field beside a summary is noted", hook: "pre_compact", point: hook.CompactBefore,
			result: `{"summary":"short","mesages":[]}`, set: `{"summary":"short"}`, verdict: hook.Stop, note: true},
		{rule: "a misspelt retain is noted", hook: "post_compact", point: hook.CompactAfter, result: `{"retian":[]}`, note: true},
		{rule: "an answer to on_session_idle is noted and ignored", hook: "on_session_idle", point: hook.SessionIdle,
			result: `{"inject":"x"}`, note: true},
		{rule: "the compactor's messages are its answer", hook: "pre_compact", point: hook.CompactBefore,
			result: `{"messages":[{"role":"user","content":"hi"}]}`, set: `{"messages":[{"role":"user","content":"hi"}]}`, verdict: hook.Stop},
		{rule: "a message may have calls and no content, or an empty one", hook: "post_compact", point: hook.CompactAfter,
			result: `{"retain":[{"role":"assistant","tool_calls":[{"id":"1","name":"ls","arguments":{}}]},{"role":"tool","content":"","tool_call_id":"1"}]}`,
			set:    `{"retain":[{"role":"assistant","tool_calls":[{"id":"1","name":"ls","arguments":{}}]},{"role":"tool","content":"","tool_call_id":"1"}]}`},
		{rule: "an empty list of messages is an answer", hook: "pre_compact", point: hook.CompactBefore,
			result: `{"messages":[]}`, set: `{"messages":[]}`, verdict: hook.Stop},
		{rule: "the compactor's summary is its answer", hook: "pre_compact", point: hook.CompactBefore,
			result: `{"summary":"short"}`, set: `{"summary":"short"}`, verdict: hook.Stop},
		{rule: "an empty object from the compactor is no opinion", hook: "pre_compact", point: hook.CompactBefore,
			result: `{}`, note: true},
		{rule: "post_compact retains and injects", hook: "post_compact", point: hook.CompactAfter,
			result: `{"retain":[{"role":"user","content":"a"}],"inject":"x"}`, set: `{"retain":[{"role":"user","content":"a"}],"inject":"x"}`},
		{rule: "post_compact without inject retains", hook: "post_compact", point: hook.CompactAfter,
			result: `{"retain":[]}`, set: `{"retain":[]}`},
		{rule: "connected to prompt.context what is injected joins the context", hook: "on_session_start", point: hook.PromptContext,
			result: `{"inject":"new"}`, set: `{"dynamic_context":"old\n\nnew"}`},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			payload := parse(t, `{"dynamic_context":"old"}`)
			reply, err := translationOf(t, tc.hook, tc.point).read(plugtest.Result(tc.result), payload)
			if err != nil {
				t.Fatal(err)
			}
			if tc.set == "" {
				tc.set = `{}`
			}
			if got := reply.Set.JSON(); string(got) != tc.set {
				t.Errorf("sets %s, want %s", got, tc.set)
			}
			if reply.Verdict != tc.verdict {
				t.Errorf("verdict %q, want %q", reply.Verdict, tc.verdict)
			}
			if (len(reply.Notes) > 0) != tc.note {
				t.Errorf("notes %q", reply.Notes)
			}
		})
	}
}

// TestGarbledAnswers: a result of the wrong shape is an error that says what is wrong:
// docs/protocols/kaged.md, row K67.
func TestGarbledAnswers(t *testing.T) {
	for _, tc := range []struct {
		rule, hook   string
		point        hook.Point
		result, says string
	}{
		{"a result must be an object", "on_session_start", hook.SessionStart, `"text"`, "but must be an object or null"},
		{"inject must be a string", "on_session_start", hook.SessionStart, `{"inject":7}`, "inject is"},
		{"messages must be a list", "pre_compact", hook.CompactBefore, `{"messages":"all"}`, "messages is"},
		{"summary must be a string", "pre_compact", hook.CompactBefore, `{"summary":[]}`, "summary is"},
		{"a compactor's answer must have messages or summary", "pre_compact", hook.CompactBefore, `{"message":[]}`, "neither messages nor summary"},
		{"retain must be a list", "post_compact", hook.CompactAfter, `{"retain":"x"}`, "retain is"},
		{"a retained message must be an object", "post_compact", hook.CompactAfter, `{"retain":[{"role":"user","content":"a"},5]}`, "retain[1] is 5, but a message is"},
		{"a retained message must have a role", "post_compact", hook.CompactAfter, `{"retain":[{"content":"x"}]}`, "role is missing"},
		{"a retained message must have a known role", "post_compact", hook.CompactAfter, `{"retain":[{"role":"bogus","content":"x"}]}`, "role must be one of user, assistant, system, tool"},
		{"a retained message must have content", "post_compact", hook.CompactAfter, `{"retain":[{"role":"user"}]}`, "content is missing"},
		{"calls of a retained message must be a list", "post_compact", hook.CompactAfter, `{"retain":[{"role":"user","content":"","tool_calls":"x"}]}`, "tool_calls"},
		{"a compactor's message must be an object", "pre_compact", hook.CompactBefore, `{"messages":["x"]}`, `messages[0] is "x", but a message is`},
		{"post_compact's inject must be a string", "post_compact", hook.CompactAfter, `{"retain":[],"inject":{}}`, "inject is"},
		{"a long answer is shortened in the error", "on_session_start", hook.SessionStart, `"` + strings.Repeat("x", 1000) + `"`, `…`},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			reply, err := translationOf(t, tc.hook, tc.point).read(plugtest.Result(tc.result), nil)
			if !errors.Is(err, hook.Garbled) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %v, want a garbled one that says %q", err, tc.says)
			}
			if len(err.Error()) > 400 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			if len(reply.Set) > 0 {
				t.Errorf("sets %s beside the error", reply.Set.JSON())
			}
		})
	}
}

func TestAnObserversAnswerDoesNotCount(t *testing.T) {
	w := *translationOf(t, "pre_compact", hook.CompactBefore)
	w.answer = observed
	reply, err := w.read(plugtest.Result(`{"messages":[]}`), nil)
	if err != nil || len(reply.Set) > 0 || reply.Verdict != "" || len(reply.Notes) != 1 {
		t.Errorf("reply %+v, error %v", reply, err)
	}
}

func TestAnInvalidConnectionNamesThePossiblePoints(t *testing.T) {
	_, err := connection("on_session_idle", hook.ToolBefore)
	if err == nil || !strings.Contains(err.Error(), "session.idle") || !strings.Contains(err.Error(), "turn.done") {
		t.Errorf("error %v", err)
	}
	if _, err := connection("on_fire", hook.TurnDone); err == nil || !strings.Contains(err.Error(), `"on_fire"`) {
		t.Errorf("error %v", err)
	}
}

// FuzzAnswers: for any answer of a plugin, a reply sets only fields of its point.
func FuzzAnswers(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{`null`, `{}`, `{"inject":"x"}`, `{"messages":[{"role":"user","content":""}],"summary":"s"}`, `{"retain":[],"inject":""}`, `[`, `"x"`, ``} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, result string) {
		for _, list := range [][]translation{native, elsewhere} {
			for i := range list {
				w := &list[i]
				reply, err := w.read(plugtest.Result(result), hook.Object{})
				if err != nil {
					continue
				}
				spec, _ := w.point.Spec()
				for _, set := range reply.Set {
					if rawjson.Check(set.Value) != nil || !slices.Contains(spec.Fields, set.Name) {
						t.Errorf("%s at %s set %s to %q", w.hook, w.point, set.Name, set.Value)
					}
				}
			}
		}
	})
}
