package hook

import (
	"encoding/json"
	"errors"
	"testing"
)

func TestTraceShowsWhatEachPluginChanged(t *testing.T) {
	h := answer("tagger", ToolBefore, Reply{
		Set:  raw("arguments", `{"cmd":"ls -l","n":[1,3],"new":true}`),
		Sent: json.RawMessage(`{"tool_name":"shell"}`), Received: json.RawMessage(`{"action":"continue"}`)})
	out := fire(t, ToolBefore, `{"tool":"shell","arguments":{"cmd":"ls","n":[1,2,9],"old":0}}`, answer("quiet", ToolBefore, Reply{}), h)

	var got struct {
		Steps []struct {
			Plugin   string
			Changed  bool
			Sent     json.RawMessage
			Received json.RawMessage
			Diff     []Change
		}
	}
	text, err := json.Marshal(out.Trace())
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.Steps[0].Changed || len(got.Steps[0].Diff) != 0 {
		t.Errorf("quiet changed something: %+v", got.Steps[0])
	}
	s := got.Steps[1]
	if !s.Changed || string(s.Sent) != `{"tool_name":"shell"}` || string(s.Received) != `{"action":"continue"}` {
		t.Errorf("step %+v", s)
	}
	want := []Change{
		{Path: "/arguments/cmd", Old: json.RawMessage(`"ls"`), New: json.RawMessage(`"ls -l"`)},
		{Path: "/arguments/n/1", Old: json.RawMessage(`2`), New: json.RawMessage(`3`)},
		{Path: "/arguments/n/2", Old: json.RawMessage(`9`)},
		{Path: "/arguments/old", Old: json.RawMessage(`0`)},
		{Path: "/arguments/new", New: json.RawMessage(`true`)},
	}
	gotText, _ := json.Marshal(s.Diff)
	wantText, _ := json.Marshal(want)
	if string(gotText) != string(wantText) {
		t.Errorf("diff\n%s\nwant\n%s", gotText, wantText)
	}
}

// TestJSONShape: an outcome has the documented JSON, field by field.
func TestJSONShape(t *testing.T) {
	out := fire(t, TurnInput, `{"message":"x"}`, broken("a", TurnInput, errors.New("boom")), answer("b", TurnInput, Reply{Verdict: Stop}))
	for i := range out.Steps {
		out.Steps[i].Duration = 0
	}
	text, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"point":"turn.input","verdict":"stop","reason":"","suggest":"","by":"b","payload":{"message":"x"},"steps":[` +
		`{"plugin":"a","dialect":"test","hook":"h","verdict":"continue","changed":false,"duration_us":0,"error":"plugin a (test) h at turn.input: boom","error_kind":"unknown","on_failure":"skip"},` +
		`{"plugin":"b","dialect":"test","hook":"h","verdict":"stop","changed":false,"duration_us":0,"error":null}]}`
	if string(text) != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestAnotherSpellingIsNoChange(t *testing.T) {
	for _, c := range []struct{ old, new string }{
		{`"café"`, `"caf\u00e9"`},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`},
		{`"a/b"`, `"a\/b"`},
	} {
		out := fire(t, TurnFinal, `{"text":`+c.old+`}`, answer("a", TurnFinal, Reply{Set: raw("text", c.new)}))
		if out.Steps[0].Changed || string(out.Payload) != `{"text":`+c.old+`}` {
			t.Errorf("%s → %s: changed %v, payload %s", c.old, c.new, out.Steps[0].Changed, out.Payload)
		}
	}
	out := fire(t, TurnFinal, `{"text":"a\\n"}`, answer("a", TurnFinal, Reply{Set: raw("text", `"a\n"`)}))
	if !out.Steps[0].Changed {
		t.Error("a real change with escapes went unnoticed")
	}
}

func TestADiffIsBounded(t *testing.T) {
	long := make([]int, 5000)
	before, err := json.Marshal(map[string]any{"a": long, "b": 1})
	if err != nil {
		t.Fatal(err)
	}
	out := fire(t, ToolBefore, `{"arguments":`+string(before)+`}`,
		answer("a", ToolBefore, Reply{Set: raw("arguments", `{"a":[],"b":2}`)}))
	diff := out.Steps[0].Diff()
	if len(diff) != 2 || diff[0].Path != "/arguments/a" || diff[1].Path != "/arguments/b" {
		t.Errorf("%d changes, first at %s; want one change for the list, and one for b", len(diff), diff[0].Path)
	}
}
