package chat

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/adapter"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// FuzzArguments: whatever a model or a plugin sends as arguments, the transcript has an object.
func FuzzArguments(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{``, `null`, `{}`, `{"a":1}`, `"{\"a\":1}"`, `"text"`, `[1]`, `{"a":`, "\xff", `"\ud800"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c := adapter.WithArguments(model.ToolCall{ID: "1"}, raw)
		var o map[string]any
		if err := json.Unmarshal(c.Arguments, &o); err != nil || o == nil {
			t.Errorf("%q became %q: %v", raw, c.Arguments, err)
		}
		if _, err := json.Marshal(c); err != nil {
			t.Errorf("%q: the call cannot be encoded: %v", raw, err)
		}
	})
}

// FuzzCalls: tool calls that plugins have changed have unique ids and objects as arguments, or the
// turn ends.
func FuzzCalls(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{``, `null`, `[]`, `[{"id":"1","name":"ls","arguments":"{\"a\":1}"},{"id":"1"}]`, `[{}]`, `[null]`, `{}`, `[{"arguments":[1]}]`, `[{"id":7}]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		calls, err := readCalls(raw)
		if err != nil {
			checkPlain(t, err)
			return
		}
		ids := map[string]bool{}
		for _, c := range calls {
			var object map[string]any
			if c.ID == "" || ids[c.ID] || json.Unmarshal(c.Arguments, &object) != nil || object == nil {
				t.Errorf("%q has the call %+v", raw, c)
			}
			ids[c.ID] = true
		}
		messages, _ := readRetained(raw)
		for _, m := range messages {
			if m.Content == "" || m.Role == model.ToolRole || len(m.ToolCalls) > 0 {
				t.Errorf("%q retains %+v", raw, m)
			}
		}
	})
}

// FuzzMessages: whatever a compactor answers, each call in the transcript has exactly one result,
// right after it.
func FuzzMessages(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{`[]`, `[{"role":"user","content":"q"}]`, `[{"role":"tool","tool_call_id":"1","content":[]}]`,
		`[{"role":"assistant","content":null,"tool_calls":[{"id":"1","name":"ls","arguments":"{}"},{"id":"1"}]},{"role":"tool","tool_call_id":"1"}]`,
		`[{"role":"assistant","tool_calls":[{"id":"1"}]},{"role":"system"},{"role":"tool","tool_call_id":"1"}]`, `{`, `[{"role":1}]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		messages, err := readMessages(raw)
		if err != nil {
			checkPlain(t, err)
			return
		}
		open := map[string]bool{}
		for i, m := range repairToolCalls(messages) {
			if m.Role == model.ToolRole {
				if !open[m.ToolCallID] {
					t.Fatalf("message %d of %q is a result without a call", i, raw)
				}
				delete(open, m.ToolCallID)
				continue
			}
			if len(open) > 0 {
				t.Fatalf("before message %d of %q calls have no result", i, raw)
			}
			for _, c := range m.ToolCalls {
				open[c.ID] = true
			}
		}
		if len(open) > 0 {
			t.Fatalf("at the end of %q calls have no result", raw)
		}
	})
}

// FuzzCutMiddle: a shortened text exceeds its limit by the note at most, and no character is cut in
// two.
func FuzzCutMiddle(tf *testing.F) {
	f := variants.Of(tf)
	f.Add("short", 10)
	f.Add(strings.Repeat("é", 100), 31)
	f.Add("\xbf\xbf\xbf\xbf", 2)
	f.Add("日本語", 0)
	f.Fuzz(func(t *testing.T, text string, most int) {
		if most < 0 || most > 1<<20 {
			return
		}
		const note = 64
		got := adapter.CutMiddle(text, most)
		if len(got) > most+note || utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("cut %q to %d: %q", text, most, got)
		}
	})
}

// checkPlain checks that an error names no type of Go, which the author of a plugin does not know.
func checkPlain(t *testing.T, err error) {
	t.Helper()
	if strings.Contains(err.Error(), "Go value") || strings.Contains(err.Error(), "Go struct") {
		t.Errorf("the error is not plain: %v", err)
	}
}
