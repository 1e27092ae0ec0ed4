package hook

import (
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// FuzzMerge merges an arbitrary value into another. Joining them must give JSON, comparing them
// must not depend on their order, and the trace must show a difference exactly where they differ.
func FuzzMerge(tf *testing.F) {
	f := variants.Of(tf)
	for _, pair := range [][2]string{
		{`"a"`, `"b"`}, {`"a"`, `"\u0061"`}, {`[]`, `[1]`}, {`[1]`, `[[2],{}]`}, {`null`, `""`}, {`[1]`, `null`}, {`{}`, `[]`},
		{`{"a":{"b":[1,2]}}`, `{"a":{"b":[1,3,4]},"~/":0}`}, {`1`, `1.0`}, {`{"a":1,"a":2}`, `{"a":2}`}, {"\"\xff\"", `"\ufffd"`},
		{`[` + strings.Repeat(`1,`, 200) + `1]`, `[` + strings.Repeat(`2,`, 200) + `2]`},
	} {
		f.Add([]byte(pair[0]), []byte(pair[1]))
	}
	f.Fuzz(func(t *testing.T, old, add []byte) {
		if rawjson.Check(old) != nil || rawjson.Check(add) != nil {
			return
		}
		a, b := rawjson.Clean(old), rawjson.Clean(add)
		if joined := join(a, b); rawjson.Check(joined) != nil {
			t.Errorf("%s and %s are joined to %s", a, b, joined)
		}
		same := rawjson.Equal(a, b)
		if same != rawjson.Equal(b, a) || !rawjson.Equal(a, a) {
			t.Errorf("whether %s and %s are equal depends on their order", a, b)
		}
		changes := diffObjects(Object{{Name: "x", Value: a}}, Object{{Name: "x", Value: b}})
		if same != (len(changes) == 0) || len(changes) > mostChanges {
			t.Errorf("%s and %s: same is %v, and they differ in %d places", a, b, same, len(changes))
		}
		for _, c := range changes {
			if !strings.HasPrefix(c.Path, "/x") || c.Old == nil && c.New == nil || !absentOrJSON(c.Old) || !absentOrJSON(c.New) {
				t.Errorf("%s and %s: %q from %s to %s", a, b, c.Path, c.Old, c.New)
			}
		}
	})
}

func absentOrJSON(v []byte) bool { return v == nil || rawjson.Check(v) == nil }
