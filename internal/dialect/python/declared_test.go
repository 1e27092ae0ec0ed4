package python

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTheDeclaredNameIsKnownBeforeTheFileRuns: the name in __plugin__ is found without an
// interpreter, if it is written there as a string.
func TestTheDeclaredNameIsKnownBeforeTheFileRuns(t *testing.T) {
	for rule, c := range map[string]struct{ code, want string }{
		"a name":                       {`__plugin__ = {"name": "shiny"}`, "shiny"},
		"on several lines":             {"\"\"\"Doc.\"\"\"\n__plugin__={\n    'api': '1.0',  # required\n    'name': 'a b',\n}\n", "a b"},
		"a comment after it":           {"__plugin__ = {\n    \"api\": \"1.0\",\n    \"name\": \"tidy\"  # by default the file's\n}\n", "tidy"},
		"a comment with a brace":       {"__plugin__ = {  # {api, name}\n    \"name\": \"tidy\",\n}\n", "tidy"},
		"a comment with another name":  {"__plugin__ = {\n    # \"name\": \"old\",\n    \"name\": \"tidy\",\n}\n", "tidy"},
		"a string with a brace":        {`__plugin__ = {"about": "{}", "name": "tidy"}`, "tidy"},
		"a name that goes on":          {"__plugin__ = {\"name\": \"a\"  # and b,\n    \"b\"}\n", ""},
		"the last assignment counts":   {"__plugin__ = {\"name\": \"one\"}\n__plugin__ = {\"name\": \"two\"}\n", "two"},
		"no name":                      {`__plugin__ = {"api": "1.0"}`, ""},
		"none":                         {"name = {\"name\": \"x\"}\n", ""},
		"in a function":                {"def f():\n    __plugin__ = {\"name\": \"inner\"}\n", ""},
		"a name that is computed":      {`__plugin__ = {"name": "a" + "b"}`, ""},
		"a name with an escape":        {`__plugin__ = {"name": "a\x62"}`, ""},
		"the name of something nested": {`__plugin__ = {"author": {"name": "x"}}`, ""},
	} {
		t.Run(rule, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "foo.py")
			if err := os.WriteFile(path, []byte(c.code), 0o644); err != nil {
				t.Fatal(err)
			}
			if got := at(path); got.Called != c.want || got.Name != "foo" {
				t.Errorf("called %q, want %q; name %q", got.Called, c.want, got.Name)
			}
		})
	}
	if got := at(filepath.Join(t.TempDir(), "missing.py")).Called; got != "" {
		t.Errorf("a missing file is called %q", got)
	}
}
