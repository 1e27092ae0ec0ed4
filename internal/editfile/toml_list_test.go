package editfile

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

var wire = []Field{{"plugin", json.RawMessage(`"b"`)}, {"point", json.RawMessage(`"tool.before"`)}}

const wireText = "[[connect]]\nplugin = \"b\"\npoint = \"tool.before\"\n"

func TestAddTOMLTable(t *testing.T) {
	for _, tc := range []struct{ rule, old, want string }{
		{"an empty file", "", wireText},
		{"at the end", "# mine\na = 1 # one\n", "# mine\na = 1 # one\n\n" + wireText},
		{"behind the others", "[[connect]]\nplugin = 'a' # first\n\n[q]\nb = 1\n", "[[connect]]\nplugin = 'a' # first\n\n" + wireText + "\n[q]\nb = 1\n"},
		{"line endings", "a = 1\r\n", "a = 1\r\n\r\n" + strings.ReplaceAll(wireText, "\n", "\r\n")},
	} {
		if got, err := AddTOMLTable([]byte(tc.old), "connect", wire); err != nil || string(got) != tc.want {
			t.Errorf("%s: got %q (%v)\nwant %q", tc.rule, got, err, tc.want)
		}
	}
	for _, old := range []string{"connect = [{plugin = 'a'}]\n", "connect = 1\n", "[connect]\n", "a ="} {
		if got, err := AddTOMLTable([]byte(old), "connect", wire); err == nil {
			t.Errorf("%q became %q", old, got)
		}
	}
}

func TestDropTOMLTables(t *testing.T) {
	isB := func(table map[string]any) bool { return table["plugin"] == "b" }
	for _, tc := range []struct{ rule, old, want string }{
		{"the only one", "a = 1\n\n" + wireText, "a = 1\n"},
		{"one of several, comments stay", "[[connect]]\nplugin = 'a'\n\n# b\n" + wireText + "# end\n\n[q]\n", "[[connect]]\nplugin = 'a'\n\n# b\n# end\n\n[q]\n"},
		{"all unwanted ones", wireText + "\n" + wireText + "\n[[connect]]\nplugin = 'c'\n", "[[connect]]\nplugin = 'c'\n"},
		{"none", "[[connect]]\nplugin = 'a'\n", "[[connect]]\nplugin = 'a'\n"},
		{"a file without any", "a = 1\n", "a = 1\n"},
	} {
		if got, err := DropTOMLTables([]byte(tc.old), "connect", isB); err != nil || string(got) != tc.want {
			t.Errorf("%s: got %q (%v)\nwant %q", tc.rule, got, err, tc.want)
		}
	}
	if got, err := DropTOMLTables([]byte("connect = [{plugin = 'b'}]\n"), "connect", isB); !errors.Is(err, ErrPath) {
		t.Errorf("a list in brackets became %q, %v", got, err)
	}
}

// TestMaskTOML: the hidden values are replaced, also inside lists and tables, and every other byte
// stays.
func TestMaskTOML(t *testing.T) {
	hide := func(path []string, _ string) string {
		if slices.Contains(path, "token") {
			return "\"…\""
		}
		return ""
	}
	for old, want := range map[string]string{
		"a = 1\n[server]\ntoken = \"x\" # it\n":            "a = 1\n[server]\ntoken = \"…\" # it\n",
		"[p.x]\nconfig = { token = 'x', b = 2 }\n":         "[p.x]\nconfig = { token = \"…\", b = 2 }\n",
		"[[mcp]]\nheaders.token = \"\"\"\nx\ny\"\"\"\n":    "[[mcp]]\nheaders.token = \"…\"\n",
		"a = [{token = 1}, {b = [{token = [\n2,\n3]}]}]\n": "a = [{token = \"…\"}, {b = [{token = \"…\"}]}]\n",
		"token.a = 1\n":                 "token.a = \"…\"\n",
		"[token]\na = 1\nb = {c = 2}\n": "[token]\na = \"…\"\nb = {c = \"…\"}\n",
	} {
		if got := string(MaskTOML([]byte(old), hide)); got != want {
			t.Errorf("%q became %q, want %q", old, got, want)
		}
	}
}

// FuzzTOMLTables: after a table was added and removed again, all values are as before, and MaskTOML
// leaves no masked value in the text.
func FuzzTOMLTables(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{"", "a = 1\n", wireText, "[[connect]]\n[x]\n[[connect]]\n", "connect = []\n", "[[a]]\n[[a.connect]]\n", "\ufeffa=1"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before, err := parseTOML(data)
		if err != nil {
			return
		}
		field := []Field{{"mark", json.RawMessage(`"fuzz"`)}}
		added, err := AddTOMLTable(data, "connect", field)
		if err != nil {
			return
		}
		marked := func(table map[string]any) bool { return table["mark"] == "fuzz" }
		dropped, err := DropTOMLTables(added, "connect", marked)
		if err != nil {
			t.Fatalf("%q: %v", added, err)
		}
		want, err := DropTOMLTables(data, "connect", marked)
		if err != nil {
			return
		}
		a, errA := parseTOML(dropped)
		b, errB := parseTOML(want)
		if errA != nil || errB != nil || !same(a, b) {
			t.Fatalf("%v became %q, want %q", before, dropped, want)
		}
		if all := MaskTOML(added, func([]string, string) string { return "0" }); strings.Contains(string(all), `"fuzz"`) && !strings.Contains(string(data), "fuzz") {
			t.Fatalf("shown: %q", all)
		}
	})
}
