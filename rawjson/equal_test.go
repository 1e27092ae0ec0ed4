package rawjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// TestEqual: escapes and the order of fields do not matter, and the spelling of numbers does.
func TestEqual(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1`, true},
		{`1`, `1.0`, false},
		{`1`, `12`, false},
		{`"a"`, `"\u0061"`, true},
		{`"é"`, `"\u00e9"`, true},
		{`"a"`, `"b"`, false},
		{`true`, `null`, false},
		{`[]`, `[]`, true},
		{`[]`, `[1]`, false},
		{`[1]`, `[]`, false},
		{`["a",1]`, `["\u0061",1]`, true},
		{`["a",1]`, `["a",2]`, false},
		{`["a"]`, `["a","b"]`, false},
		{`[[1],[2]]`, `[[1],[2]]`, true},
		{`[["\u0061"],[2]]`, `[["a"],[3]]`, false},
		{`{}`, `{"a":1}`, false},
		{`{"a":[1,"\/"]}`, `{"\u0061":[1,"/"]}`, true},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		{`{"a":1,"b":2}`, `{"b":2,"c":1}`, false},
		{`{"a":1,"b":2}`, `{"a":1}`, false},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
		{`{"a":1,"b":2}`, `{"b":2,"a":3}`, false},
		{`{"a":{"x":1,"y":[{"p":1,"q":2}]},"b":2}`, `{"b":2,"a":{"y":[{"q":2,"p":1}],"x":1}}`, true},
		{`{"a":{"x":1,"y":[{"p":1,"q":2}]},"b":2}`, `{"b":2,"a":{"y":[{"q":2,"p":3}],"x":1}}`, false},
		{`{"a":1,"a":1,"b":2}`, `{"b":2,"a":1,"c":3}`, false},
		{`{"a":1,"a":2}`, `{"a":3,"a":2}`, false}, // the same to encoding/json, but Equal does not check that
		{`[1, 2]`, `[1,2]`, false}, // not compact
	} {
		if got := Equal([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}

// TestEqualDecodesNothing: a comparison allocates nothing.
func TestEqualDecodesNothing(t *testing.T) {
	a := []byte(`[` + strings.Repeat(`{"text":"one line\n","n":1},`, 1000) + `0]`)
	b := append(bytes.Clone(a[:len(a)-2]), "1]"...)
	if n := testing.AllocsPerRun(10, func() { Equal(a, b) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestEqualGivesUp: values with fields in another order at every level are not read again and
// again.
func TestEqualGivesUp(t *testing.T) {
	nest := func(depth int, before, after string) []byte {
		return []byte(strings.Repeat(before, depth) + "0" + strings.Repeat(after, depth))
	}
	shallow := 5
	if !Equal(nest(shallow, `{"a":1,"b":`, `}`), nest(shallow, `{"b":`, `,"a":1}`)) {
		t.Error("a few levels are too many")
	}
	a, b := nest(9_000, `{"a":1,"b":`, `}`), nest(9_000, `{"b":`, `,"a":1}`)
	c := comparison{a: a, b: b, left: mostPasses * (len(a) + len(b))}
	if _, _, same := c.values(0, 0); same || c.left >= 0 || c.left < -(len(a)+len(b)) {
		t.Errorf("same %v, %d bytes left", same, c.left)
	}
}

// FuzzEqual: values that Equal finds equal are equal to encoding/json, and a value that
// encoding/json has rewritten is equal to the original.
func FuzzEqual(tf *testing.F) {
	f := variants.Of(tf)
	for _, pair := range [][2]string{{`{"a":1}`, `{"\u0061":1}`}, {`{"a":1,"b":2}`, `{"b":2,"a":1}`}, {`["\ud800"]`, `["\ufffd"]`}, {`[1]`, `[1,2]`}, {`1e1`, `10`},
		{`{"a":1,"a":1,"b":2}`, `{"b":2,"a":1,"c":1}`}} {
		f.Add([]byte(pair[0]), []byte(pair[1]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if Check(a) != nil || Check(b) != nil {
			return
		}
		a, b = Clean(a), Clean(b)
		if Equal(a, b) && !reflect.DeepEqual(decoded(t, a), decoded(t, b)) {
			t.Errorf("Equal(%s, %s) = true, but encoding/json decodes them to different values", a, b)
		}
		again, err := json.Marshal(decoded(t, a))
		if err != nil {
			t.Fatal(err)
		}
		if len(a) < 200 && !repeats(a) && !Equal(a, again) {
			t.Errorf("Equal(%s, %s) = false, but encoding/json wrote one from the other", a, again)
		}
	})
}

// repeats reports whether two strings of a value are the same, so that an object in it may have a
// name twice.
func repeats(v []byte) bool {
	seen := make(map[string]bool)
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		if s, ok := token.(string); ok {
			if seen[s] {
				return true
			}
			seen[s] = true
		}
	}
}

func decoded(t *testing.T, v []byte) (out any) {
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}
