package scaffold

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// TestManifestName: docs/protocols/scaffold.md, row S30, says which names are allowed.
func TestManifestName(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "Git-Context9": true, strings.Repeat("a", 64): true,
		"": false, "9a": false, "-a": false, "my_plugin": false, "a b": false, strings.Repeat("a", 65): false, "ä": false,
	} {
		raw, err := json.Marshal(map[string]string{"name": name})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseManifest(raw); (err == nil) != ok {
			t.Errorf("name %q: %v", name, err)
		}
	}
	for _, bad := range []string{`{}`, `[]`, `"x"`, `null`, `{"name":7}`, `{"name":null}`} {
		if _, err := parseManifest(json.RawMessage(bad)); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

// TestManifestDefaults: only the name is required, and no other field causes a warning if it is
// missing.
func TestManifestDefaults(t *testing.T) {
	m, err := parseManifest(json.RawMessage(`{"name":"p"}`))
	if err != nil {
		t.Fatal(err)
	}
	if m.Version != "0.0.0" || m.Description != "" || len(m.Hooks) != 0 || len(m.Tools) != 0 || m.Priority != 500 || len(m.warnings) != 0 {
		t.Errorf("%+v", m)
	}
}

// TestManifestOddities: a faulty optional field is ignored with a warning:
// docs/protocols/scaffold.md, row S31.
func TestManifestOddities(t *testing.T) {
	for _, c := range []struct {
		rule, manifest, warning string
		check                   func(m *manifest) bool
	}{
		{"an unknown hook is a warning", `{"name":"p","hooks":["context_enhanced","post_user_input"]}`, `did you mean "context_enhance"`,
			func(m *manifest) bool { return len(m.Hooks) == 1 }},
		{"a hook listed twice counts once", `{"name":"p","hooks":["context_enhance","context_enhance"]}`, "listed twice",
			func(m *manifest) bool { return len(m.Hooks) == 1 }},
		{"hooks of a wrong type are ignored", `{"name":"p","hooks":"all"}`, "hooks is ignored",
			func(m *manifest) bool { return len(m.Hooks) == 0 }},
		{"a hook that is not a string is left out alone", `{"name":"p","hooks":[1,"context_enhance",null]}`,
			"hooks[0] is left out: a number where the name of a hook belongs; hooks[2] is left out: null",
			func(m *manifest) bool { return len(m.Hooks) == 1 && len(m.lost) == 2 }},
		{"a priority written as a float", `{"name":"p","priority":100.0}`, "", func(m *manifest) bool { return m.Priority == 100 }},
		{"priority 0 is allowed", `{"name":"p","priority":0}`, "", func(m *manifest) bool { return m.Priority == 0 }},
		{"a priority of a wrong type", `{"name":"p","priority":"high"}`, "priority is ignored", func(m *manifest) bool { return m.Priority == 500 }},
		{"a priority out of range", `{"name":"p","priority":1e300}`, "out of range", func(m *manifest) bool { return m.Priority == 500 }},
		{"null fields are missing fields", `{"name":"p","version":null,"hooks":null,"tools":null,"priority":null}`, "",
			func(m *manifest) bool { return m.Version == "0.0.0" && m.Priority == 500 }},
		{"a tool without a name is left out", `{"name":"p","tools":[{"description":"d"},{"name":"t"}]}`, "has no name",
			func(m *manifest) bool { return len(m.Tools) == 1 && m.Tools[0].Name == "plugin_p_t" }},
		{"two tools of one name", `{"name":"p","tools":[{"name":"t"},{"name":"t"}]}`, "two tools",
			func(m *manifest) bool { return len(m.Tools) == 1 }},
		{"a parameter of an unknown type allows any value", `{"name":"p","tools":[{"name":"t","parameters":[{"name":"x","type":"path"}]}]}`, `there is no type "path"`,
			func(m *manifest) bool {
				return string(m.Tools[0].Parameters) == `{"type":"object","properties":{"x":{}}}`
			}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			m, err := parseManifest(json.RawMessage(c.manifest))
			if err != nil {
				t.Fatal(err)
			}
			warnings := strings.Join(append(m.lost, m.warnings...), "; ")
			if !c.check(m) || !strings.Contains(warnings, c.warning) || (c.warning == "") != (warnings == "") {
				t.Errorf("%+v, warnings %q", m, warnings)
			}
		})
	}
}

func FuzzParseManifest(tf *testing.F) {
	f := variants.Of(tf)
	f.Add([]byte(`{"name":"p","hooks":["context_enhance"],"tools":[{"name":"t","parameters":[{"name":"x","required":true}]}],"priority":1}`))
	f.Add([]byte(`{"name":"p","tools":[null,7,{"name":""}],"priority":1e999}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseManifest(data)
		if err == nil && !namePattern.MatchString(m.Name) {
			t.Errorf("accepted the name %q", m.Name)
		}
	})
}

// TestAManifestThatIsNoObject: the error shows the answer, and names no type of Go.
func TestAManifestThatIsNoObject(t *testing.T) {
	_, err := parseManifest(json.RawMessage(`["a"]`))
	if err == nil || err.Error() != `the manifest is not an object: "[\"a\"]"` {
		t.Errorf("%v", err)
	}
}

// TestMisspeltManifestFields: a misspelt field is a warning that names the one that was meant.
func TestMisspeltManifestFields(t *testing.T) {
	m, err := parseManifest(json.RawMessage(`{"name":"a","hook":[],"tools":[{"name":"t","params":[]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(m.warnings, "\n")
	want := "the manifest has the unknown field \"hook\", which is ignored; did you mean \"hooks\"?\n" +
		"tools[0] has the unknown field \"params\", which is ignored; did you mean \"parameters\"?"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	_, err = parseManifest(json.RawMessage(`{"nmae":"a"}`))
	if err == nil || err.Error() != `the manifest has no name, but the field "nmae"; did you mean "name"?` {
		t.Errorf("%v", err)
	}
}

// TestConnectingAMisspeltHook: a connection to a hook whose name the plugin has misspelt says so,
// and does not suggest another hook.
func TestConnectingAMisspeltHook(t *testing.T) {
	m, err := parseManifest([]byte(`{"name":"guard","hooks":["pre_tool_exceute","post_tool_execute"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if fix := m.noHook("pre_tool_execute").Error(); !strings.Contains(fix, `lists "pre_tool_exceute", which is no hook: write "pre_tool_execute"`) {
		t.Errorf("fix %q", fix)
	}
	if fix := m.noHook("post_llm_response").Error(); strings.Contains(fix, "is no hook") {
		t.Errorf("another hook: fix %q", fix)
	}
}
