package editfile

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

func path(s string) []string { return strings.Split(s, "/") }

func TestSetTOML(t *testing.T) {
	for _, tc := range []struct{ rule, old, path, value, want string }{
		{"a value is replaced, the comment stays", "a = 1 # one\nb = 2\n", "a", "3", "a = 3 # one\nb = 2\n"},
		{"in a table", "[p.x]\n  level = 'low'   # c\n\n[q]\n", "p/x/level", `"high"`, "[p.x]\n  level = \"high\"   # c\n\n[q]\n"},
		{"in a table in braces", "[p.x]\nconfig = {level=1,mode = \"a\"}\n", "p/x/config/mode", `"b"`, "[p.x]\nconfig = {level=1,mode = \"b\"}\n"},
		{"a new key in braces", "[p.x]\nconfig = { level = 1 } # c\n", "p/x/config/mode", `true`, "[p.x]\nconfig = { level = 1, mode = true } # c\n"},
		{"a new key in empty braces", "config = {}\n", "config/mode", `true`, "config = { mode = true }\n"},
		{"a path in braces", "config = { a = 1 }\n", "config/b/c", `2`, "config = { a = 1, b.c = 2 }\n"},
		{"a new key behind the last of its table", "[p.x]\na = 1\n# end\n\n[q]\nb = 1\n", "p/x/c", "2", "[p.x]\na = 1\nc = 2\n# end\n\n[q]\nb = 1\n"},
		{"a new key in an empty table", "[p.x] # here\n[q]\n", "p/x/c", "2", "[p.x] # here\nc = 2\n[q]\n"},
		{"a new key at the top", "a = 1\n[q]\n", "b", "2", "a = 1\nb = 2\n[q]\n"},
		{"a new key at the top of tables alone", "# mine\n[q]\n", "b", "2", "# mine\nb = 2\n\n[q]\n"},
		{"a new table behind the one above it", "[p.x]\na = 1\n\n[q]\nb = 1\n", "p/x/config/c", "2", "[p.x]\na = 1\n\n[p.x.config]\nc = 2\n\n[q]\nb = 1\n"},
		{"a new table at the end", "[q]\nb = 1\n", "p/x/c", "2", "[q]\nb = 1\n\n[p.x]\nc = 2\n"},
		{"a file that does not end its last line", "[q]\nb = 1", "p/x/c", "2", "[q]\nb = 1\n\n[p.x]\nc = 2\n"},
		{"an empty file", "", "p/x/c", "2", "[p.x]\nc = 2\n"},
		{"line endings", "[q]\r\nb = 1\r\n", "q/c", "2", "[q]\r\nb = 1\r\nc = 2\r\n"},
		{"a dotted key", "[p]\nx.a = 1\nx.b = 2\n", "p/x/b", "3", "[p]\nx.a = 1\nx.b = 3\n"},
		{"beside dotted keys", "[p]\nx.a = 1\ny = 2\n", "p/x/b", "3", "[p]\nx.a = 1\nx.b = 3\ny = 2\n"},
		{"a table that only tables below name", "[p.x.config.sub]\na = 1\n", "p/x/config/c", "2", "[p.x.config.sub]\na = 1\n\n[p.x.config]\nc = 2\n"},
		{"quoted keys", "[plugins.\"a.b\"]\nx = 1\n", "plugins/a.b/x", "2", "[plugins.\"a.b\"]\nx = 2\n"},
		{"a new key that needs quotes", "[p]\n", "p/a b", "2", "[p]\n\"a b\" = 2\n"},
		{"a long text and a list before it", "a = [\n  1, # x = 3\n  '''\nb = 9''',\n]\nb = \"\"\"\n[b]\"\"\"\n[c]\nd = 1979-05-27 07:32:00Z\n", "c/d", "1",
			"a = [\n  1, # x = 3\n  '''\nb = 9''',\n]\nb = \"\"\"\n[b]\"\"\"\n[c]\nd = 1\n"},
		{"a text with a line break in it", "a = 1\n", "a", `"x\n\"y\""`, "a = \"x\\n\\\"y\\\"\"\n"},
		{"a whole number stays one", "a = 1.5\n", "a", "3", "a = 3\n"},
		{"a number with a fraction stays one", "a = 1\n", "a", "3.0", "a = 3.0\n"},
		{"a list", "a = 1\n", "a", `["x",2]`, "a = [\"x\", 2]\n"},
		{"a byte order mark", "\ufeff[q]\r\nb = 1\r\n", "q/b", "2", "\ufeff[q]\r\nb = 2\r\n"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			got, err := SetTOML([]byte(tc.old), path(tc.path), json.RawMessage(tc.value))
			if err != nil || string(got) != tc.want {
				t.Errorf("got %q (%v)\nwant %q", got, err, tc.want)
			}
		})
	}
}

func TestSetTOMLRefuses(t *testing.T) {
	for _, tc := range []struct{ rule, old, path, value string }{
		{"invalid TOML", "a = ", "a", "1"},
		{"a path through a value", "a = 1\n", "a/b", "1"},
		{"a path through a list of tables", "[[a]]\nb = 1\n", "a/b", "1"},
		{"a table with a header", "[a]\nb = 1\n", "a", "1"},
		{"null", "a = 1\n", "a", "null"},
	} {
		if got, err := SetTOML([]byte(tc.old), path(tc.path), json.RawMessage(tc.value)); err == nil {
			t.Errorf("%s: got %q", tc.rule, got)
		}
	}
}

func TestRemoveTOML(t *testing.T) {
	for _, tc := range []struct{ rule, old, path, want string }{
		{"with its line", "a = 1\nb = 2 # c\n# d\n", "b", "a = 1\n# d\n"},
		{"the last line", "a = 1\nb = 2", "b", "a = 1\n"},
		{"first in braces", "a = { b = 1, c = 2 }\n", "a/b", "a = { c = 2 }\n"},
		{"last in braces", "a = { b = 1, c = 2 }\n", "a/c", "a = { b = 1 }\n"},
		{"alone in braces", "a = { b = 1 }\n", "a/b", "a = {  }\n"},
		{"several lines", "a = [\n1,\n]\nb = 1\n", "a", "b = 1\n"},
		{"a missing key", "a = 1\n", "b/c", "a = 1\n"},
		{"a dotted key, with its tables", "a.b.c = 1\nd = 2\n", "a/b/c", "d = 2\n"},
		{"a dotted key, with the tables that are only its own", "[a]\nb.c = 1\n", "a/b/c", "[a]\n"},
		{"a dotted key beside another", "a.b = 1\na.c = 2\n", "a/b", "a.c = 2\n"},
		{"a dotted key in braces", "a = { b.c = 1 }\n", "a/b/c", "a = {  }\n"},
		{"an empty table, with its blank line", "a = 1\n\n[b.c] # d\n\n[e]\n", "b/c", "a = 1\n\n[e]\n"},
		{"the first line after a byte order mark", "\ufeffa = 1\nb = 2\n", "a", "\ufeffb = 2\n"},
	} {
		got, err := RemoveTOML([]byte(tc.old), path(tc.path))
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: got %q (%v), want %q", tc.rule, got, err, tc.want)
		}
	}
}

// TestErrorsOfTOMLHaveALine: as those of JSON do.
func TestErrorsOfTOMLHaveALine(t *testing.T) {
	if _, err := SetTOML([]byte("a = 1\nb =\n"), path("c"), []byte("1")); err == nil || !strings.HasPrefix(err.Error(), "line 2: ") {
		t.Error(err)
	}
}

// FuzzTOML: for every valid TOML text, a value is set and removed only at the path, or refused;
// every byte outside of one piece stays.
func FuzzTOML(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{"a = 1\n", "[p.x]\nconfig = {a=1}\n", "[[l]]\na=1\n[l.b]\nc=2\n", "a.b.c = 1\na.d = \"\"\"x\"\"\"\n", "\ufeffa = 'x'",
		"[a]\r\n\"b\" = [1,{c=2}]\r\n", "a = nan\n", "x = 1979-05-27 07:32:00\n", "[a]\n[a.b]\n[c]", "\"\" = {}\n"} {
		f.Add([]byte(seed), "a/b", `"v"`)
	}
	f.Fuzz(func(t *testing.T, data []byte, at string, value string) {
		old, err := parseTOML(data)
		if err != nil || !json.Valid([]byte(value)) {
			return
		}
		where := path(at)
		set, err := SetTOML(data, where, json.RawMessage(value))
		if err == nil {
			checkSet(t, data, set, parseTOML)
		}
		without, err := RemoveTOML(data, where)
		if err != nil {
			if !errors.Is(err, ErrPath) {
				t.Errorf("remove %q from %q: %v", at, data, err)
			}
			return
		}
		want, err := with(old, where, absent)
		got, parseErr := parseTOML(without)
		for err == nil && !same(got, want) && isEmptyTable(want, where[:len(where)-1]) {
			where = where[:len(where)-1]
			want, err = with(want, where, absent)
		}
		if err == nil && (parseErr != nil || !same(got, want)) {
			t.Errorf("%q without %q is %q", data, at, without)
		}
	})
}

// checkSet checks that one piece was inserted or replaced.
func checkSet(t *testing.T, old, set []byte, parse parser) {
	t.Helper()
	if _, err := parse(set); err != nil {
		t.Fatalf("%q became %q: %v", old, set, err)
	}
	front := 0
	for front < min(len(old), len(set)) && old[front] == set[front] {
		front++
	}
	back := 0
	for back < min(len(old), len(set))-front && old[len(old)-1-back] == set[len(set)-1-back] {
		back++
	}
	if strings.Contains(string(old[front:len(old)-back]), "#") && strings.HasPrefix(strings.TrimSpace(string(old[front:len(old)-back])), "#") {
		t.Errorf("%q became %q: a comment was lost", old, set)
	}
}
