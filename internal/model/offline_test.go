package model

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

const scriptText = `
# two replies, one with tools
- text: Let me look.
  tools:
    - {name: git.log, arguments: {n: 1, deep: [a, {b: null}]}}
    - name: list_files
- text: |
    All is well.
  delay: 20ms
`

func mustScript(t *testing.T, text string) Script {
	t.Helper()
	s, err := ParseScript("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScriptIsPlayedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := Offline(mustScript(t, scriptText))
		req := asked("go")
		var deltas []Delta
		listen := func(d Delta) { deltas = append(deltas, d) }
		first, err := m.Reply(t.Context(), req, listen)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, first.Text, "Let me look.")
		equal(t, first.Stop, StopTools)
		equal(t, first.ToolCalls, []ToolCall{call("call_1", "git.log", `{"n":1,"deep":["a",{"b":null}]}`), call("call_2", "list_files", `{}`)})
		equal(t, deltas, []Delta{{Text: "Let "}, {Text: "me "}, {Text: "look."}, {ToolCall: "git.log"}, {ToolCall: "list_files"}})

		req.Messages = append(req.Messages, Message{Role: Assistant, Content: first.Text, ToolCalls: first.ToolCalls},
			Message{Role: ToolRole, ToolCallID: "call_1", Content: "x"}, Message{Role: ToolRole, ToolCallID: "call_2", Content: "y"})
		began := time.Now()
		second, err := m.Reply(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, second.Text, "All is well.\n")
		equal(t, second.Stop, StopEnd)
		equal(t, time.Since(began), 3*20*time.Millisecond)

		req.Messages = append(req.Messages, Message{Role: Assistant, Content: second.Text}, Message{Role: User, Content: "and now?"})
		third, err := m.Reply(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, third.Text, "(offline model) You said: and now?")
	})
}

func TestScriptIsPlayedPerConversation(t *testing.T) {
	m := Offline(mustScript(t, "- text: one\n- text: two\n"))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			req := asked("go")
			for _, want := range []string{"one", "two"} {
				resp, err := m.Reply(t.Context(), req, nil)
				if err != nil || resp.Text != want {
					t.Errorf("got %+v, %v", resp, err)
					return
				}
				req.Messages = append(req.Messages, Message{Role: Assistant, Content: resp.Text}, Message{Role: User, Content: "more"})
			}
		})
	}
	wg.Wait()
}

func TestScriptGoesOnAfterACompaction(t *testing.T) {
	m := Offline(mustScript(t, "- text: one\n- text: two\n- {text: three, tools: [{name: t}]}\n"))
	req := &Request{Earlier: 2, Messages: []Message{{Role: System, Content: "summary"}, {Role: User, Content: "go"}}}
	resp, err := m.Reply(t.Context(), req, nil)
	if err != nil || resp.Text != "three" {
		t.Errorf("got %+v, %v", resp, err)
	}
}

func TestScriptedCallsHaveIDsOfTheirOwn(t *testing.T) {
	m := Offline(mustScript(t, "- text: one\n- {text: two, tools: [{name: a}, {name: b}]}\n"))
	req := asked("go")
	req.Messages = append(req.Messages, Message{Role: Assistant, ToolCalls: []ToolCall{call("call_3", "a", `{}`)}})
	resp, err := m.Reply(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, b := resp.ToolCalls[0].ID, resp.ToolCalls[1].ID
	if a == b || a == "call_3" || b == "call_3" {
		t.Errorf("got %q and %q", a, b)
	}
}

func TestEchoExplainsHowToUseARealModel(t *testing.T) {
	m := Offline(nil)
	resp, err := m.Reply(t.Context(), asked("ignore", "hello there"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"offline model", "hello there", "patchbay chat --model anthropic:NAME", "[model]", "ANTHROPIC_API_KEY"} {
		if !strings.Contains(resp.Text, want) {
			t.Errorf("%q is missing from %q", want, resp.Text)
		}
	}
	if resp.Usage.Input == 0 || resp.Usage.Output == 0 {
		t.Errorf("nothing is counted: %+v", resp.Usage)
	}
	again, err := m.Reply(t.Context(), &Request{Messages: []Message{{Role: User, Content: "a"}, {Role: Assistant, Content: "b"}, {Role: User, Content: "c"}}}, nil)
	if err != nil || again.Text != "(offline model) You said: c" {
		t.Errorf("got %+v, %v", again, err)
	}
	if nothing, err := m.Reply(t.Context(), &Request{}, nil); err != nil || !strings.Contains(nothing.Text, "(nothing)") {
		t.Errorf("got %+v, %v", nothing, err)
	}
}

func TestOfflineEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := Offline(Script{{Text: "a b c", Delay: time.Second}})
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		if _, err := m.Reply(ctx, asked("go"), nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if _, err := Offline(nil).Reply(ctx, asked("go"), nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestOpenReadsTheScript(t *testing.T) {
	path := filepath.Join(t.TempDir(), "turn.yaml")
	if err := os.WriteFile(path, []byte(scriptText), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Open(Config{Provider: ProviderOffline, Script: path, Window: 50})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, m.Info(), Info{Provider: "offline", Name: "script", Window: 50, Offline: true})
	if err := os.WriteFile(path, []byte("- txt: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Config{Provider: ProviderOffline, Script: path}); err == nil || !strings.Contains(err.Error(), path+":1:3: ") {
		t.Errorf("got %v", err)
	}
}

func TestScriptErrorsHavePositions(t *testing.T) {
	for text, want := range map[string]string{
		"- txt: hi\n": `f:1:3: unknown key [0].txt; did you mean "text"?`,
		"- text: a\n- text: b\n  tools: [{nam: x}]": `f:3:11: [1].tools[0].name: is required; write name: and the tool's name` + "\n" + `f:3:12: unknown key [1].tools[0].nam; did you mean "name"?`,
		"text: hi\n":                                  `f:1:1: the script must be a list, got a mapping; begin each item with "- "`,
		"- text: [1]\n":                               `f:1:9: [0].text: must be a string, got a list; write a string`,
		"- text: a\n  tools: 3\n":                     `f:2:10: [0].tools: must be a list, got a number; put it into brackets: […]`,
		"- tools: {name: a}\n":                        `f:1:10: [0].tools: must be a list, got a mapping; write a list`,
		"- text: a\n  text: b\n":                      `f:2:3: [0].text: the key occurs twice, first in line 1`,
		"- text: &a x\n- text: *a\n":                  `f:1:9: anchors are not allowed in a script; quote a text that begins with "&"` + "\n" + `f:2:9: aliases are not allowed in a script; quote a text that begins with "*"`,
		"- text: !!binary aGk=\n":                     `f:1:9: tags are not allowed in a script; quote a text that begins with "!"`,
		"- text: a\n---\n- text: b\n":                 `f:2:1: a script is one document, this begins a second`,
		"- hi\n":                                      `f:1:3: [0]: this is not a reply; begin each reply with "- text: …" or "- tools: …"`,
		"- {}\n":                                      `f:1:3: [0]: this is not a reply; begin each reply with "- text: …" or "- tools: …"`,
		"- text: a\n\n- tools: [{arguments: {}}]\n":   `f:3:11: [1].tools[0].name: is required; write name: and the tool's name`,
		"- text: a\n  delay: soon\n":                  `f:2:10: [0].delay: "soon" is not a time from 0s to 10s; write a number and a unit, as in 20ms`,
		"- text: a\n  delay: 5\n":                     `f:2:10: [0].delay: "5" is not a time from 0s to 10s; write a number and a unit, as in 20ms`,
		"- text: a\n  delay: 3h\n":                    `f:2:10: [0].delay: "3h" is not a time from 0s to 10s; write a number and a unit, as in 20ms`,
		"- tools: [{name: x, arguments: [1]}]\n":      `f:1:32: [0].tools[0].arguments: must be a mapping, got a list; put a key before each value: { KEY: … }`,
		"- tools: [{name: x, arguments: {a: .inf}}]":  `f:1:36: [0].tools[0].arguments.a: JSON has no number for .inf`,
		"- tools: [null]\n":                           `f:1:11: [0].tools[0]: must be a mapping, got nothing; put a key before each value: { KEY: … }`,
		"- text: \"no end\n":                          `f:1:9: not valid YAML: could not find end character of double-quoted text`,
		"[":                                           `f:1:1: not valid YAML: `,
		"\xff":                                        `f:1:1: the script is not UTF-8`,
		strings.Repeat("#", document.MaxSize+1):       `f:1:1: the script has more than 1048576 bytes`,
		"[" + strings.Repeat("{},", 20_000):           `f:1:20001: the script is too long: more than 20000 words and signs`,
		"- txt: a\n- hi\n- {text: b, delay: 1000h}\n": "f:1:3: unknown key [0].txt; did you mean \"text\"?\nf:2:3: [1]: this is not a reply; begin each reply with \"- text: …\" or \"- tools: …\"\nf:3:20: [2].delay: ",
	} {
		script, err := ParseScript("f", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.40q: got %v, %v\nwant %s", text, script, err, want)
		}
	}
}

// TestScriptsMayBeWrittenLoosely: texts, names and delays need no quotes, and are as written. A key
// without a value counts as absent.
func TestScriptsMayBeWrittenLoosely(t *testing.T) {
	for text, want := range map[string]Script{
		"- text: 42\n":                        {{Text: "42"}},
		"- text: 0755\n":                      {{Text: "0755"}},
		"- text: 3.50\n":                      {{Text: "3.50"}},
		"- text: True\n":                      {{Text: "True"}},
		"- text:\n  tools:\n  delay:\n":       {{}},
		"- delay: 0\n":                        {{}},
		"---\n- text: a\n---\n":               {{Text: "a"}},
		"\ufeff- text: a\n":                   {{Text: "a"}},
		"- tools: [{name: 5, arguments: }]\n": {{Tools: []ScriptedCall{{"5", emptyObject}}}},
		"- tools: [{name: a, arguments: {b: 3.50, 5: 1e3}}]\n": {{Tools: []ScriptedCall{{"a", []byte(`{"b":3.50,"5":1e3}`)}}}},
	} {
		equal(t, mustScript(t, text), want)
	}
}

func TestAnEmptyScriptHasNoReplies(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "[]\n"} {
		if s := mustScript(t, text); len(s) != 0 {
			t.Errorf("%q: got %+v", text, s)
		}
	}
}

func FuzzScript(tf *testing.F) {
	f := variants.Of(tf)
	f.Add(scriptText)
	f.Add("[{text: a, delay: 1ms}, {tools: [{name: b, arguments: {c: 1}}]}]")
	f.Add("- text: &a b\n- *a\n")
	f.Add("- ? text\n  : >-\n    folded\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4<<10 {
			return // long scripts are slow, and test nothing more
		}
		script, err := ParseScript("f", []byte(text))
		if err != nil && script != nil {
			t.Fatal("both a script and an error")
		}
		for _, r := range script {
			for _, c := range r.Tools {
				var object map[string]any
				if c.Name == "" || json.Unmarshal(c.Arguments, &object) != nil {
					t.Fatalf("got %+v", c)
				}
			}
		}
	})
}

// TestAdviceFitsATerminal: `chat -p` prints the advice as it is.
func TestAdviceFitsATerminal(t *testing.T) {
	for line := range strings.Lines(advice) {
		if len(strings.TrimRight(line, "\n")) > 80 {
			t.Errorf("a line is wider than a terminal: %q", line)
		}
	}
}
