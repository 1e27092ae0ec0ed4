package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/model/modeltest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// lines shows a prepared conversation, one line for each part.
func lines(p *prepared) string {
	var b strings.Builder
	if p.system != "" {
		fmt.Fprintf(&b, "prompt %q\n", p.system)
	}
	for _, t := range p.turns {
		fmt.Fprintf(&b, "%s:\n", t.role)
		for _, a := range t.answers {
			fmt.Fprintf(&b, "  %s -> %q %v\n", a.id, a.content, a.failed)
		}
		for _, x := range t.texts {
			fmt.Fprintf(&b, "  %s %q\n", x.role, x.content)
		}
		for _, c := range t.calls {
			fmt.Fprintf(&b, "  %s = %s(%s)\n", c.ID, c.Name, c.Arguments)
		}
	}
	return b.String()
}

func TestPrepare(t *testing.T) {
	user := func(s string) Message { return Message{Role: User, Content: s} }
	system := func(s string) Message { return Message{Role: System, Content: s} }
	says := func(s string, calls ...ToolCall) Message {
		return Message{Role: Assistant, Content: s, ToolCalls: calls}
	}
	result := func(id, s string) Message { return Message{Role: ToolRole, ToolCallID: id, Name: "t", Content: s} }
	for _, c := range []struct {
		rule     string
		native   bool
		messages []Message
		want     string
	}{
		{"a plain conversation stays", false, []Message{user("a"), says("b"), user("c")}, `
user:
  user "a"
assistant:
  assistant "b"
user:
  user "c"`},
		{"results come first in the turn after their calls", false,
			[]Message{user("a"), says("b", call("1", "t", `{"x":1}`), call("2", "t", ``)), result("2", "two"), result("1", "one")}, `
user:
  user "a"
assistant:
  assistant "b"
  1 = t({"x":1})
  2 = t({})
user:
  1 -> "one" false
  2 -> "two" false`},
		{"messages between a call and its result come after it", false,
			[]Message{user("a"), says("", call("1", "t", `{}`)), system("note"), user("hurry"), result("1", "one")}, `
user:
  user "a"
assistant:
  1 = t({})
user:
  1 -> "one" false
  user "<system>\nnote\n</system>"
  user "hurry"`},
		{"a call without a result was interrupted", false,
			[]Message{user("a"), says("", call("1", "t", `{}`)), user("b")}, `
user:
  user "a"
assistant:
  1 = t({})
user:
  1 -> "(no result: the call was interrupted)" true
  user "b"`},
		{"a result without a call becomes a text", false, []Message{result("9", "late"), user("a")}, `
user:
  user "(The result of an earlier call of the tool \"t\":)\nlate"
  user "a"`},
		{"a second result becomes a text", false,
			[]Message{user("a"), says("", call("1", "t", `{}`)), result("1", "one"), result("1", "two")}, `
user:
  user "a"
assistant:
  1 = t({})
user:
  1 -> "one" false
  user "(The result of an earlier call of the tool \"t\":)\ntwo"`},
		{"an empty result gets a text", false, []Message{user("a"), says("", call("1", "t", `{}`)), result("1", " \n")}, `
user:
  user "a"
assistant:
  1 = t({})
user:
  1 -> "(no output)" false`},
		{"system messages before the first turn belong to the prompt", false, []Message{system("one"), system("two"), user("a")}, `
prompt "be good\n\none\n\ntwo"
user:
  user "a"`},
		{"later ones keep their place", false, []Message{user("a"), says("b"), system("one"), user("c")}, `
user:
  user "a"
assistant:
  assistant "b"
user:
  user "<system>\none\n</system>"
  user "c"`},
		{"later ones keep their role if the provider supports it", true, []Message{user("a"), system("one"), user("c")}, `
user:
  user "a"
  system "one"
  user "c"`},
		{"empty replies are left out", false, []Message{user("a"), says(" "), user(""), system("\n"), user("b")}, `
user:
  user "a"
  user "b"`},
		{"two replies in a row are one", false, []Message{user("a"), says("b"), says("c", call("1", "t", `{}`)), result("1", "x")}, `
user:
  user "a"
assistant:
  assistant "b"
  assistant "c"
  1 = t({})
user:
  1 -> "x" false`},
		{"the assistant neither begins nor ends", false, []Message{says("a")}, `
user:
  user "(The beginning of the conversation is not shown.)"
assistant:
  assistant "a"
user:
  user "(Go on.)"`},
		{"repeated ids are made unique", false, []Message{
			user("a"), says("", call("1", "t", `{}`), call("1", "t", `{}`)), result("1", "one"), result("1", "two"),
			says("", call("1", "t", `{}`)), result("1", "three")}, `
user:
  user "a"
assistant:
  1 = t({})
  call_2 = t({})
user:
  1 -> "one" false
  call_2 -> "two" false
assistant:
  call_3 = t({})
user:
  call_3 -> "three" false`},
		{"ids have only characters that providers accept", false, []Message{user("a"), says("", call("x:1/2", "t", `{}`)), result("x:1/2", "r")}, `
user:
  user "a"
assistant:
  x_1_2 = t({})
user:
  x_1_2 -> "r" false`},
		{"arguments that are not an object are not sent", false, []Message{user("a"), says("", call("1", "a.b", `[1]`)), result("1", "r")}, `
user:
  user "a"
assistant:
  1 = a_b({})
user:
  1 -> "r" false`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			req := &Request{Messages: c.messages}
			if strings.HasPrefix(c.want, "\nprompt") {
				req.System = "be good"
			}
			p, err := prepare(req, c.native)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := lines(p), c.want[1:]+"\n"; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestPrepareRefusesAConversationWithoutAMessage(t *testing.T) {
	for _, messages := range [][]Message{nil, {{Role: User, Content: " "}}, {{Role: System, Content: "a"}}} {
		if _, err := prepare(&Request{Messages: messages}, false); !errors.Is(err, errNothingSaid) {
			t.Errorf("got %v", err)
		}
	}
	eachProvider(t, func(t *testing.T, f *fixture) {
		f.play(t)
		if e := f.fails(t, &Request{}); e.Tries != 0 {
			t.Errorf("got %v", e)
		}
	})
}

func TestToolNames(t *testing.T) {
	long := strings.Repeat("long.", 30)
	names := []string{"read_file", "git.log", "git_log", "git/log", "größe", "", long, long + "x", "git.log"}
	req := &Request{}
	for _, name := range names {
		req.Tools = append(req.Tools, Tool{Name: name})
	}
	req.Messages = []Message{{Role: Assistant, ToolCalls: []ToolCall{{Name: "gone.by-now"}}}}
	n := nameTools(req)
	equal(t, n.sent["read_file"], "read_file")
	equal(t, n.sent["git_log"], "git_log")
	equal(t, n.sent["gone.by-now"], "gone_by-now")
	for _, name := range names {
		sent := n.sent[name]
		if sent == "" || len(sent) > maxName || legal(sent, maxName) != sent {
			t.Errorf("%q has the name %q", name, sent)
		}
		if back := n.ours(sent); back != name {
			t.Errorf("%q came back as %q", name, back)
		}
	}
	equal(t, n.ours("made_up"), "made_up")
	if again := nameTools(req); again.sent["git.log"] != n.sent["git.log"] {
		t.Error("names change from request to request")
	}
}

func TestToolsOfOneNameAreSentOnce(t *testing.T) {
	tools := []Tool{{Name: "a", Description: "first"}, {Name: "a", Description: "second"}}
	got := prepareTools(tools, nameTools(&Request{Tools: tools}))
	if len(got) != 1 || got[0].Description != "first" {
		t.Errorf("got %+v", got)
	}
}

func TestSchemasAreOfObjects(t *testing.T) {
	for in, want := range map[string]string{
		``:                                   `{"type":"object","properties":{}}`,
		`null`:                               `{"type":"object","properties":{}}`,
		`[1]`:                                `{"type":"object","properties":{}}`,
		`{"properties": {"z": {}, "a": {}}}`: `{"properties":{"z":{},"a":{}},"type":"object"}`,
		`{"type":"object","properties":null,"required":[]}`:     `{"type":"object","properties":{},"required":[]}`,
		`{"type":"object","properties":{"b":{"x":1},"a":{}}}  `: `{"type":"object","properties":{"b":{"x":1},"a":{}}}`,
	} {
		if got := string(objectSchema(json.RawMessage(in))); got != want {
			t.Errorf("%s: got %s", in, got)
		}
	}
}

// conversation returns a request with every kind of message.
func conversation() *Request {
	return &Request{
		System: "be good", MaxTokens: 77,
		Tools: []Tool{{Name: "git.log", Description: "the log", Parameters: json.RawMessage(`{"type":"object","properties":{"z":{},"a":{}}}`)}},
		Messages: []Message{
			{Role: User, Content: "look"},
			{Role: Assistant, Content: "yes", ToolCalls: []ToolCall{call("c1", "git.log", `{"n":1}`)}},
			{Role: ToolRole, ToolCallID: "c1", Name: "git.log", Content: "broken", Failed: true},
			{Role: System, Content: "note"},
			{Role: User, Content: "and?"},
		},
	}
}

// sent returns the body of a request, as JSON with sorted keys.
func sent(t *testing.T, f *fixture) string {
	t.Helper()
	f.must(t, conversation())
	var body map[string]any
	f.server.Last().JSON(t, &body)
	text, err := json.MarshalIndent(body, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func sameJSON(t *testing.T, got, want string) {
	t.Helper()
	var g, w any
	if err := errors.Join(json.Unmarshal([]byte(got), &g), json.Unmarshal([]byte(want), &w)); err != nil {
		t.Fatal(err)
	}
	equal(t, g, w)
}

func TestWhatAnthropicIsSent(t *testing.T) {
	f := &fixture{provider: ProviderAnthropic, serve: modeltest.Anthropic}
	f.play(t, modeltest.Reply{})
	sameJSON(t, sent(t, f), `{
		"model": "test-model", "max_tokens": 77, "stream": true,
		"system": [{"type": "text", "text": "be good", "cache_control": {"type": "ephemeral"}}],
		"tools": [{"name": "git_log", "description": "the log", "input_schema": {"type": "object", "properties": {"z": {}, "a": {}}}}],
		"messages": [
			{"role": "user", "content": [{"type": "text", "text": "look"}]},
			{"role": "assistant", "content": [
				{"type": "text", "text": "yes"}, {"type": "tool_use", "id": "c1", "name": "git_log", "input": {"n": 1}}]},
			{"role": "user", "content": [
				{"type": "tool_result", "tool_use_id": "c1", "is_error": true, "content": [{"type": "text", "text": "broken"}]},
				{"type": "text", "text": "<system>\nnote\n</system>"},
				{"type": "text", "text": "and?", "cache_control": {"type": "ephemeral"}}]}
		]}`)
	if body := string(f.server.Last().Body); !strings.Contains(body, `"properties":{"z":{},"a":{}}`) {
		t.Errorf("the order of the properties is lost: %s", body)
	}
}

func TestWhatCompatibleServersAreSent(t *testing.T) {
	f := &fixture{provider: ProviderOpenAI, serve: modeltest.OpenAI}
	f.play(t, modeltest.Reply{})
	sameJSON(t, sent(t, f), `{
		"model": "test-model", "max_tokens": 77, "stream": true, "stream_options": {"include_usage": true},
		"tools": [{"type": "function", "function": {"name": "git_log", "description": "the log",
			"parameters": {"type": "object", "properties": {"z": {}, "a": {}}}}}],
		"messages": [
			{"role": "system", "content": "be good"},
			{"role": "user", "content": "look"},
			{"role": "assistant", "content": "yes", "tool_calls": [
				{"id": "c1", "type": "function", "function": {"name": "git_log", "arguments": "{\"n\":1}"}}]},
			{"role": "tool", "tool_call_id": "c1", "content": "broken"},
			{"role": "user", "content": "<system>\nnote\n</system>\n\nand?"}
		]}`)
	if body := string(f.server.Last().Body); !strings.Contains(body, `"properties":{"z":{},"a":{}}`) {
		t.Errorf("the order of the properties is lost: %s", body)
	}
}

func TestWhatOpenAIItselfIsSent(t *testing.T) {
	f := &fixture{provider: ProviderOpenAI, serve: modeltest.OpenAI}
	f.play(t, modeltest.Reply{})
	f.model.at.official = true
	f.model.provider.(*openaiModel).official = true
	var body struct {
		Max      int `json:"max_completion_tokens"`
		Messages []struct{ Role, Content string }
	}
	f.must(t, conversation())
	f.server.Last().JSON(t, &body)
	equal(t, body.Max, 77)
	last := body.Messages[len(body.Messages)-2:]
	if last[0].Role != "system" || last[0].Content != "note" || last[1].Role != "user" || last[1].Content != "and?" {
		t.Errorf("got %+v", last)
	}
}

func TestAnthropicAlwaysHasALimit(t *testing.T) {
	f := &fixture{provider: ProviderAnthropic, serve: modeltest.Anthropic}
	f.play(t, modeltest.Reply{})
	f.must(t, nil)
	var body struct {
		Max int `json:"max_tokens"`
	}
	f.server.Last().JSON(t, &body)
	equal(t, body.Max, anthropicOutput)
}

// FuzzPrepare makes a conversation of the bytes, and checks that a provider would accept the
// prepared one.
func FuzzPrepare(tf *testing.F) {
	f := variants.Of(tf)
	f.Add([]byte("0123456789"))
	f.Add([]byte{3, 4, 3, 3, 5, 1, 0, 2, 4})
	f.Fuzz(func(t *testing.T, data []byte) {
		req := &Request{}
		for _, b := range data[:min(len(data), 500)] {
			id := fmt.Sprint(b / 16 % 4)
			m := [...]Message{
				{Role: User, Content: "u"}, {Role: System, Content: "s"}, {Role: Assistant, Content: "a"}, {Role: Assistant},
				{Role: Assistant, ToolCalls: []ToolCall{call(id, "t", `{}`), call(id+"x", "t.t", `[`)}},
				{Role: ToolRole, ToolCallID: id, Content: "r"}, {Role: ToolRole, ToolCallID: id + "x"}, {Role: User},
			}[b%8]
			req.Messages = append(req.Messages, m)
		}
		p, err := prepare(req, len(data)%2 == 0)
		if err != nil {
			return
		}
		checkTurns(t, p)
	})
}

func checkTurns(t *testing.T, p *prepared) {
	t.Helper()
	var open []ToolCall
	ids := make(map[string]bool)
	for i, turn := range p.turns {
		if want := [...]Role{User, Assistant}[i%2]; turn.role != want {
			t.Fatalf("turn %d is the %s's", i, turn.role)
		}
		if len(turn.answers)+len(turn.texts)+len(turn.calls) == 0 {
			t.Fatalf("turn %d is empty", i)
		}
		if len(turn.answers) != len(open) {
			t.Fatalf("turn %d has %d answers to %d calls", i, len(turn.answers), len(open))
		}
		for j, a := range turn.answers {
			if a.id != open[j].ID || a.content == "" {
				t.Fatalf("turn %d: answer %+v to %+v", i, a, open[j])
			}
		}
		for _, c := range turn.calls {
			if ids[c.ID] {
				t.Fatalf("the id %q occurs twice", c.ID)
			}
			ids[c.ID] = true
		}
		open = turn.calls
	}
	if p.turns[len(p.turns)-1].role != User {
		t.Fatal("the last turn is the assistant's")
	}
}
