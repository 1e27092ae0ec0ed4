package dotagent

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

func TestInfo(t *testing.T) {
	for _, c := range []struct{ rule, info, err, warning string }{
		{"only name is required", `{"name":"roam"}`, "", ""},
		{"a misspelt field is reported", `{"name":"roam","kind":["sink"]}`, "", `the field "kind" is ignored: did you mean "kinds"?`},
		{"other unknown fields are not", `{"name":"roam","kinds":["sink"],"kind":"x","description":"d","author":"a"}`, "", ""},
		{"null is missing", `{"name":"roam","version":null,"kinds":["sink"],"platforms":null,"schema":null}`, "", ""},
		{"no name", `{"kinds":["sink"]}`, "no name", ""},
		{"an empty name", `{"name":""}`, "no name", ""},
		{"a name that is not a string", `{"name": 7}`, "name is not a string: 7", ""},
		{"the file's name counts", `{"name":"Roam Research","kinds":["sink"]}`, "", `calls itself "Roam Research"`},
		{"an unknown kind is broken", `{"name":"roam","kinds":["sinks"]}`, `unknown kind "sinks"; did you mean "sink"?`, ""},
		{"kinds that are not a list", `{"name":"roam","kinds":"sink"}`, `kinds is not a list of strings: "sink"`, ""},
		{"platforms that are not a list", `{"name":"roam","kinds":["sink"],"platforms":[1, 2]}`, "platforms is not a list of strings: [1,2]", ""},
		{"a version that is not a string is ignored", `{"name":"roam","kinds":["sink"],"version":1}`, "", "version is ignored"},
		{"an invalid schema is ignored", `{"name":"roam","kinds":["sink"],"schema":{"type":"objekt"}}`, "", "schema is ignored"},
		{"a schema that reads a file is ignored", `{"name":"roam","kinds":["sink"],"schema":{"$ref":"file:///etc/passwd"}}`, "", `ignored: $ref: refers to "file:///etc/passwd", outside of the schema`},
		{"a pattern that cannot be checked is reported", `{"name":"roam","kinds":["sink"],"schema":{"pattern":"(?=a)b"}}`, "", `in its schema: pattern: the pattern "(?=a)b" is not checked`},
		{"not an object", `["roam"]`, "not a JSON object", ""},
		{"not JSON", `roam`, "not a JSON object", ""},
		{"nothing", ``, "is empty", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			m, err := parseInfo([]byte(c.info), "roam")
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil || m.Name != "roam" {
				t.Fatalf("%+v, %v", m, err)
			}
			if got := strings.Join(append(m.unusable, m.warnings...), "\n"); !strings.Contains(got, c.warning) || (got == "") != (c.warning == "") {
				t.Errorf("warnings %q, want %q", got, c.warning)
			}
		})
	}
}

func TestKindsAreInTheOrderOfAJob(t *testing.T) {
	m, err := parseInfo([]byte(`{"name":"n","kinds":["notify","preflight","notify"]}`), "n")
	if err != nil || strings.Join(m.Kinds, " ") != "preflight notify" || strings.Join(m.Hooks, " ") != "preflight notify" {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestPlatforms(t *testing.T) {
	for _, c := range []struct {
		rule, platforms, system string
		supported               bool
	}{
		{"no platforms means cross-platform", `[]`, "linux", true},
		{"this one among others", `["darwin","linux"]`, "linux", true},
		{"another", `["darwin"]`, "linux", false},
		{"macos is darwin", `["macos"]`, "darwin", true},
		{"windows", `["darwin","linux"]`, "windows", false},
		{"capital letters", `["Linux"]`, "linux", false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			m, err := parseInfo([]byte(`{"name":"n","platforms":`+c.platforms+`}`), "n")
			if err != nil {
				t.Fatal(err)
			}
			if err := m.supported(c.system); (err == nil) != c.supported || err != nil && !strings.Contains(err.Error(), "unsupported on "+c.system) {
				t.Errorf("%v", err)
			} else if lower := "let the plugin write its platforms in lower case: " + c.system; err != nil && strings.Contains(err.Error(), lower) != (c.rule == "capital letters") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestSchema(t *testing.T) {
	m, err := parseInfo([]byte(`{"name":"n","kinds":["sink"],"schema":{"required":["page"],"properties":{"page":{"type":"string"},
		"n":{"maximum":3},"list":{"items":{"type":"string"}}}}}`), "n")
	if err != nil || len(m.warnings) > 0 {
		t.Fatal(m, err)
	}
	for _, c := range []struct{ rule, config, want string }{
		{"a config that fits", `{"page":"today","n":3}`, ""},
		{"a missing field", `{}`, "config.page: is required"},
		{"everything at once", `{"page":7,"n":4}`, "config.n: must be at most 3; config.page: must be of type string, is number"},
		{"a config that is not JSON", `{`, "config: is not valid JSON"},
		{"a long list of faults is cut", `{"page":"p","list":[` + strings.Repeat("1,", 29) + `1]}`, "; and 10 more"},
		{"a config that is too large", `{"page":"` + strings.Repeat("x", mostConfig) + `"}`, "over 256 KiB"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if err := m.misfit(json.RawMessage(c.config)); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	t.Run("without a schema every config is allowed", func(t *testing.T) {
		if err := new(manifest).misfit(json.RawMessage(`7`)); err != nil {
			t.Error(err)
		}
	})
}

// FuzzParseInfo: whatever a plugin answers to info, its name is that of its file, and all its kinds
// are known. The check of a config against its schema comes to an end, and errors repeat little of
// the answer.
func FuzzParseInfo(tf *testing.F) {
	f := variants.Of(tf)
	f.Add([]byte(`{"name":"n","kinds":["sink"],"platforms":["linux"],"schema":{"type":"object"}}`))
	f.Add([]byte(`{"name":"n","schema":{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#"}]}}}}`))
	f.Add([]byte(`{"name":"other","version":7,"kinds":["notify","sink","notify"],"platforms":[]}`))
	f.Add([]byte(`{"name":"n","kinds":["` + strings.Repeat("x", 5000) + `"]}`))
	f.Add([]byte(`{"name":"n","platforms":[` + strings.Repeat("9", 5000) + `]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseInfo(data, "n")
		if err != nil {
			if len(err.Error()) > longestError {
				t.Errorf("%d bytes of error: %.100q", len(err.Error()), err)
			}
			return
		}
		_ = m.misfit(json.RawMessage(`{"page":"today","n":[1,{}]}`)) // must return
		if m.Name != "n" || slices.ContainsFunc(m.Kinds, func(k string) bool { return !slices.Contains(kinds, k) }) {
			t.Errorf("%q is %+v", data, m.Info)
		}
		if warnings := strings.Join(m.warnings, ""); len(warnings) > 4*longestError {
			t.Errorf("%d bytes of warnings", len(warnings))
		}
	})
}
