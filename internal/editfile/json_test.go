package editfile

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

func TestSetJSON(t *testing.T) {
	for _, tc := range []struct{ rule, old, path, value, want string }{
		{"a value is replaced, comments stay", "{\n  // one\n  \"a\": 1, /* x */\n}\n", "a", "2", "{\n  // one\n  \"a\": 2, /* x */\n}\n"},
		{"a new member on a line of its own", "{\n\t\"a\": 1 // c\n}\n", "b", "2", "{\n\t\"a\": 1, // c\n\t\"b\": 2\n}\n"},
		{"behind a comma at the end", "{\n  \"a\": 1,\n}\n", "b", "2", "{\n  \"a\": 1,\n  \"b\": 2,\n}\n"},
		{"on the same line", `{"a": 1}`, "b", `"x"`, `{"a": 1, "b": "x"}`},
		{"into an empty object", `{}`, "b", "2", `{"b": 2}`},
		{"into an object of lines", "{\n  \"a\": {\n  }\n}\n", "a/b", "2", "{\n  \"a\": {\n    \"b\": 2\n  }\n}\n"},
		{"with objects around it", `{"a": 1}`, "b/c/d", "2", `{"a": 1, "b": {"c": {"d": 2}}}`},
		{"an empty file", "", "a", "1", "{\n  \"a\": 1\n}\n"},
		{"line endings", "{\r\n  \"a\": 1\r\n}\r\n", "b", "2", "{\r\n  \"a\": 1,\r\n  \"b\": 2\r\n}\r\n"},
		{"the last of two of one name", `{"a": 1, "a": 2}`, "a", "3", `{"a": 1, "a": 3}`},
		{"a text that looks like a comment", `{"a": "http://x/*y*/", "b": 1}`, "b", "2", `{"a": "http://x/*y*/", "b": 2}`},
		{"an object in the place of a value", `{"a": 1}`, "a", `{"x":[1]}`, `{"a": {"x":[1]}}`},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			got, err := SetJSON([]byte(tc.old), path(tc.path), json.RawMessage(tc.value))
			if err != nil || string(got) != tc.want {
				t.Errorf("got %q (%v)\nwant %q", got, err, tc.want)
			}
		})
	}
	for _, bad := range []string{`[1]`, `{"a": 1`, `{"a" 1}`, `{"a": 1} x`, `{a: 1}`} {
		if got, err := SetJSON([]byte(bad), path("a"), json.RawMessage("1")); err == nil {
			t.Errorf("%s: became %q", bad, got)
		}
	}
}

func TestRemoveJSON(t *testing.T) {
	for _, tc := range []struct{ rule, old, path, want string }{
		{"with its line", "{\n  \"a\": 1,\n  \"b\": 2\n}\n", "a", "{\n  \"b\": 2\n}\n"},
		{"the last one", "{\n  \"a\": 1,\n  \"b\": 2\n}\n", "b", "{\n  \"a\": 1\n}\n"},
		{"the last one behind a comment", "{\n  \"a\": 1, // one\n  \"b\": 2\n}\n", "b", "{\n  \"a\": 1 // one\n}\n"},
		{"on one line", `{"a": 1, "b": 2}`, "b", `{"a": 1}`},
		{"alone", `{"a": {"b": 2}}`, "a/b", `{"a": {}}`},
		{"a missing member", `{"a": 1}`, "b", `{"a": 1}`},
	} {
		got, err := RemoveJSON([]byte(tc.old), path(tc.path))
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: got %q (%v), want %q", tc.rule, got, err, tc.want)
		}
	}
}

// FuzzJSON: a text that encoding/json reads as an object is read the same way here; a value is set
// and removed only at the path. A member that was added and removed again leaves no trace.
func FuzzJSON(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{`{}`, `{"a":1}`, "{\n  // c\n  \"a\": {\"b\": [1, 2,],},\n}", `{"a":{"b":2},"a":{"c":3}}`, "\ufeff{\"a\":1}", `{"\u0061":1}`,
		"{\n\"a\":1, // c \r\n}", "{\"a\":1 /* c */ }", "{\"a\":1 // c\n}", "{\"a\":1 , }"} {
		f.Add([]byte(seed), "a/b", `{"v":[1]}`)
		f.Add([]byte(seed), "z", `2`)
	}
	f.Fuzz(func(t *testing.T, data []byte, name string, value string) {
		values, err := decode(data)
		old, isObject := values.(map[string]any)
		mine, mineErr := parseJSON(data)
		if err == nil && isObject && (mineErr != nil || !same(mine, old)) {
			t.Fatalf("%q is read as %v (%v)", data, mine, mineErr)
		}
		if mineErr != nil || !json.Valid([]byte(value)) {
			return
		}
		where := path(name)
		set, err := SetJSON(data, where, json.RawMessage(value))
		if err != nil && !errors.Is(err, ErrPath) {
			t.Errorf("set %q in %q: %v", name, data, err)
		}
		if err == nil {
			checkSet(t, data, set, parseJSON)
			if len(where) == 1 && len(mine) > 0 && !at(mine, where) && !mixed(data) && strings.TrimSpace(value) == value {
				if back, err := RemoveJSON(set, where); err != nil || string(back) != string(data) {
					t.Errorf("%q became %q, and then %q (%v)", data, set, back, err)
				}
			}
		}
		without, err := RemoveJSON(data, where)
		if err != nil {
			if !errors.Is(err, ErrPath) {
				t.Errorf("remove %q from %q: %v", name, data, err)
			}
			return
		}
		want, err := with(mine, where, absent)
		if got, parseErr := parseJSON(without); err == nil && (parseErr != nil || !same(got, want)) {
			t.Errorf("%q without %q is %q", data, name, without)
		}
	})
}

// mixed reports whether a text has line endings of two kinds.
func mixed(data []byte) bool {
	crlf := strings.Count(string(data), "\r\n")
	return crlf > 0 && crlf != strings.Count(string(data), "\n")
}
