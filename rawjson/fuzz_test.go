package rawjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"testing"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
	"github.com/patchbay-dev/patchbay/rawjson"
)

func seed(f *variants.F) {
	for _, doc := range documents {
		f.Add([]byte(doc))
	}
}

func FuzzCheck(tf *testing.F) {
	f := variants.Of(tf)
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		valid := json.Valid(data)
		if got := rawjson.Check(data) == nil; got != valid {
			t.Fatalf("Check(%q) valid = %v, encoding/json says %v", data, got, valid)
		}
		if !valid {
			return
		}
		var want bytes.Buffer
		if err := json.Compact(&want, data); err != nil {
			t.Fatal(err)
		}
		if got := rawjson.Compact(data); !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("Compact(%q) = %q, want %q", data, got, want.Bytes())
		}
		if got := rawjson.Clean(data); !utf8.Valid(got) || !json.Valid(got) {
			t.Fatalf("Clean(%q) = %q", data, got)
		}
	})
}

// FuzzParse compares Parse with encoding/json: the fields and their values are the same. If keys
// are plain and not repeated, the object has the same bytes as the result of Compact.
func FuzzParse(tf *testing.F) {
	f := variants.Of(tf)
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var want map[string]json.RawMessage
		isObject := json.Unmarshal(data, &want) == nil && want != nil
		o, err := rawjson.Parse(data)
		if (err == nil) != isObject {
			t.Fatalf("Parse(%q): %v, encoding/json says %v", data, err, isObject)
		}
		if err != nil {
			return
		}
		if len(o) != len(want) {
			t.Fatalf("Parse(%q) has %d fields, want %d", data, len(o), len(want))
		}
		plain := utf8.Valid(data) && keysArePlain(data, len(o))
		for _, field := range o {
			if !sameValue(field.Value, want[field.Name]) {
				t.Fatalf("Parse(%q)[%q] = %s, want %s", data, field.Name, field.Value, want[field.Name])
			}
		}
		if got := o.JSON(); plain && !bytes.Equal(got, rawjson.Compact(data)) {
			t.Fatalf("Parse(%q).JSON() = %q", data, got)
		}
		if plain && !o.Is(rawjson.Compact(data)) {
			t.Fatalf("Parse(%q).Is returned false for its compact form", data)
		}
		if again, err := rawjson.Parse(rawjson.Clean(data)); o.Is(data) && (err != nil || !reflect.DeepEqual(o, again) || !bytes.Equal(rawjson.Clean(data), data)) {
			t.Fatalf("Parse(%q).Is returned true for the data, which is not compact", data)
		}
	})
}

// keysArePlain reports whether the n top-level keys are written as AppendString writes them, and
// none is repeated.
func keysArePlain(data []byte, n int) bool {
	dec := json.NewDecoder(bytes.NewReader(data))
	_, _ = dec.Token()
	count := 0
	for dec.More() {
		key, _ := dec.Token()
		if name, ok := key.(string); !ok || !bytes.Contains(data, rawjson.String(name)) {
			return false
		}
		var skip json.RawMessage
		_ = dec.Decode(&skip)
		count++
	}
	return count == n && !bytes.ContainsAny(data, `\`)
}

func sameValue(got, want json.RawMessage) bool {
	var a, b any
	if json.Unmarshal(got, &a) != nil {
		return json.Unmarshal(want, &b) != nil // a number beyond float64 is valid JSON, but cannot be decoded
	}
	if json.Unmarshal(want, &b) != nil {
		return false
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return utf8.Valid(got) && bytes.Equal(x, y)
}

func FuzzUnquote(tf *testing.F) {
	f := variants.Of(tf)
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var want *string
		isString := json.Unmarshal(data, &want) == nil && want != nil
		got, ok := rawjson.Unquote(data)
		if ok != isString || ok && got != *want {
			t.Fatalf("Unquote(%q) = %q, %v", data, got, ok)
		}
	})
}

func FuzzAppendString(tf *testing.F) {
	f := variants.Of(tf)
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var want string // encoding/json's own round trip, for its handling of invalid UTF-8
		encoded, _ := json.Marshal(string(data))
		if err := json.Unmarshal(encoded, &want); err != nil {
			t.Fatal(err)
		}
		doc := rawjson.String(string(data))
		if !json.Valid(doc) || !utf8.Valid(doc) {
			t.Fatalf("String(%q) = %q", data, doc)
		}
		if got, ok := rawjson.Unquote(doc); !ok || got != want {
			t.Fatalf("String(%q) = %s, which reads back as %q", data, doc, got)
		}
	})
}

// FuzzRequote: the value stays the same, no escape in it is needless, and half a surrogate pair is
// still there.
func FuzzRequote(tf *testing.F) {
	f := variants.Of(tf)
	seed(f)
	f.Add([]byte(`["\u0072m\/","\u0022\u005c\u000A\u2028\u007f","\ud83d\ude00\uD83D\ud83d","\\u0072",1e400]`))
	needless := regexp.MustCompile(`^(\\\\|\\[^u/]|\\u00[01][0-9a-f]|\\u202[89]|\\u[dD][89a-fA-F]..|[^\\])*$`)
	surrogate := regexp.MustCompile(`\\u[dD][89a-fA-F]`)
	f.Fuzz(func(t *testing.T, data []byte) {
		if data = rawjson.Clean(data); rawjson.Check(data) != nil {
			return
		}
		got := rawjson.Requote(data)
		if !sameValue(got, data) || !needless.Match(got) {
			t.Fatalf("Requote(%s) = %s", data, got)
		}
		if half := rawjson.Half(data); !bytes.Equal(rawjson.Half(got), half) || half != nil != surrogate.Match(bytes.ReplaceAll(got, []byte(`\\`), nil)) {
			t.Fatalf("Half(%s) = %s, and %s after Requote(%s)", data, half, rawjson.Half(got), got)
		}
	})
}

// FuzzOutline: an outline gives the same fields as ParseForeign, whatever stands around the object.
func FuzzOutline(tf *testing.F) {
	f := variants.Of(tf)
	seed(f)
	f.Add([]byte("{ \"a\": \"\xff\",\"b\":1}")) // cleaned, it is as long as before
	f.Fuzz(func(t *testing.T, data []byte) {
		line := []byte(`{"a":{"b":1},"value":` + string(data) + `,"c":[{}]}`)
		for c := rawjson.Fields(line, 0); c.Next(); {
			outline, value := c.Outline(), c.Value.Clean(line)
			got, err := outline.ParseForeign(value)
			want, wantErr := rawjson.ParseForeign(value)
			if _, deep := errors.AsType[*rawjson.DepthError](wantErr); deep {
				return
			}
			if (err == nil) != (wantErr == nil) || !reflect.DeepEqual(got, want) {
				t.Fatalf("the outline of %q gives %q, %v; want %q, %v", value, got, err, want, wantErr)
			}
			for _, f := range got {
				if cap(f.Value) > len(f.Value) {
					t.Fatalf("appending to field %q of %q would overwrite the rest", f.Name, value)
				}
			}
		}
	})
}
