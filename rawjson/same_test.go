package rawjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestSame(t *testing.T) {
	for _, c := range []struct {
		a, b       string
		same, sure bool
	}{
		{`1`, `1`, true, true},
		{`1`, `1.0`, false, true},
		{`1`, `12`, false, true},
		{`"a"`, `"\u0061"`, true, true},
		{`"é"`, `"\u00e9"`, true, true},
		{`"a"`, `"b"`, false, true},
		{`"{"`, `"["`, false, false}, // it looks for a brace, wherever that is
		{`["a",1]`, `["\u0061",1]`, true, true},
		{`["a",1]`, `["a",2]`, false, true},
		{`["a"]`, `["a","b"]`, false, true},
		{`{"a":[1,"\/"]}`, `{"\u0061":[1,"/"]}`, true, true},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, false, false},
		{`{"a":1,"a":2}`, `{"a":3,"a":2}`, false, false},
		{`[1, 2]`, `[1,2]`, false, true}, // it wants them compact
	} {
		if same, sure := Same([]byte(c.a), []byte(c.b)); same != c.same || sure != c.sure {
			t.Errorf("%s and %s: %v, sure %v", c.a, c.b, same, sure)
		}
	}
}

func TestSameDecodesNothing(t *testing.T) {
	a := []byte(`[` + strings.Repeat(`{"text":"one line\n","n":1},`, 1000) + `0]`)
	b := bytes.Clone(a)
	if n := testing.AllocsPerRun(10, func() { Same(a, b) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzSame: what it is sure of, encoding/json finds too.
func FuzzSame(f *testing.F) {
	for _, pair := range [][2]string{{`{"a":1}`, `{"\u0061":1}`}, {`{"a":1,"b":2}`, `{"b":2,"a":1}`}, {`["\ud800"]`, `["\ufffd"]`}, {`[1]`, `[1,2]`}, {`1e1`, `10`}} {
		f.Add([]byte(pair[0]), []byte(pair[1]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if Check(a) != nil || Check(b) != nil {
			return
		}
		a, b = Clean(a), Clean(b)
		same, sure := Same(a, b)
		if want := reflect.DeepEqual(decoded(t, a), decoded(t, b)); sure && same != want || same && !sure {
			t.Errorf("%s and %s: %v, sure %v; want %v", a, b, same, sure, want)
		}
	})
}

func decoded(t *testing.T, v []byte) (out any) {
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}
