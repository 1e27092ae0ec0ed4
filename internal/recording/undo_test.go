package recording

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// TestUndo derives the old payload from the new one and the changes, with its fields in the same
// order.
func TestUndo(t *testing.T) {
	long := func(text string) string { return "[" + strings.Repeat(text+",", 150) + "1]" }
	for name, c := range map[string]struct{ before, after string }{
		"a text":             {`{"message":"hello <b>","n":1.0}`, `{"message":"HELLO","n":1.0}`},
		"a new field":        {`{"b":1,"a":2}`, `{"b":1,"a":2,"c":null}`},
		"null is a value":    {`{"a":null}`, `{"a":1}`},
		"a list grows":       {`{"list":[1,{"x":2}]}`, `{"list":[1,{"x":3},4,5,6]}`},
		"a list shrinks":     {`{"list":[1,2,3,4],"z":0}`, `{"list":[1],"z":0}`},
		"lists in lists":     {`{"list":[[1,2],[3]]}`, `{"list":[[1],[3,4]]}`},
		"fields in a field":  {`{"args":{"z":1,"a/b":{"~":[1]},"y":2}}`, `{"args":{"z":1,"a/b":{"~":[2]},"y":3}}`},
		"another kind":       {`{"a":{"b":1}}`, `{"a":[1]}`},
		"very many at once":  {`{"list":` + long("1") + `}`, `{"list":` + long("2") + `}`},
		"a field comes back": {`{"args":{"gone":1,"stays":2}}`, `{"args":{"stays":2}}`},
	} {
		got, err := undo(json.RawMessage(c.after), kept(t, hook.Diff(json.RawMessage(c.before), json.RawMessage(c.after))))
		if name == "a field comes back" { // behind the others
			c.before = `{"args":{"stays":2,"gone":1}}`
		}
		if c.before = strings.ReplaceAll(strings.ReplaceAll(c.before, "<", `\u003c`), ">", `\u003e`); err != nil || string(got) != c.before {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.before)
		}
	}
}

// TestUndoRefusesChangesThatDoNotFit checks that changes of a damaged journal are refused, so that
// no recording has an event that never happened.
func TestUndoRefusesChangesThatDoNotFit(t *testing.T) {
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	for i, c := range []hook.Change{
		{Path: "/message", Old: raw(`"a"`), New: raw(`"other"`)},
		{Path: "/none", Old: raw(`"a"`), New: raw(`"b"`)},
		{Path: "/message/deep", New: raw(`1`)},
		{Path: "/list/7", Old: raw(`1`)},
		{Path: "/list/0", New: raw(`1`)},
		{Path: "/list/-1", Old: raw(`1`)},
		{Path: "message", Old: raw(`1`)},
		{Path: "", Old: raw(`1`)},
		{Path: "/message"},
	} {
		if got, err := undo(raw(`{"message":"now","list":[1,2]}`), []hook.Change{c}); err == nil {
			t.Errorf("%d %+v: %s", i, c, got)
		}
	}
	if got, err := undo(raw(`null`), []hook.Change{{Path: "/a", New: raw(`1`)}}); err == nil {
		t.Errorf("null: %s", got)
	}
}

// FuzzUndo checks that for any two payloads the first is derived from the second.
func FuzzUndo(tf *testing.F) {
	f := variants.Of(tf)
	f.Add(`{"a":[1,2,{"b":null}]}`, `{"a":[2,{"b":[]},1,1],"c":""}`)
	f.Add(`{"a":{"x":1,"y":{"~/":2}}}`, `{"a":{"y":{"~/":[]}}}`)
	f.Fuzz(func(t *testing.T, before, after string) {
		var a, b map[string]any
		if json.Unmarshal([]byte(before), &a) != nil || json.Unmarshal([]byte(after), &b) != nil {
			return
		}
		for name := range a { // no plugin can remove a field of a payload
			if _, ok := b[name]; !ok {
				b[name] = a[name]
			}
		}
		x, y := canonical(t, a), canonical(t, b)
		got, err := undo(y, kept(t, hook.Diff(x, y)))
		if err != nil {
			t.Fatalf("%s then %s: %v", x, y, err)
		}
		var c map[string]any
		if err := json.Unmarshal(got, &c); err != nil || string(canonical(t, c)) != string(x) {
			t.Errorf("%s then %s: %s", x, y, got)
		}
	})
}

func canonical(t *testing.T, v map[string]any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// kept returns changes in the form of the journal.
func kept(t *testing.T, changes []hook.Change) (read []hook.Change) {
	text, err := json.Marshal(changes)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	return read
}
