package dotagent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestInfo(t *testing.T) {
	for _, c := range []struct{ rule, info, err, warning string }{
		{"only name is required", `{"name":"roam"}`, "", "nothing of its kinds"},
		{"null is missing", `{"name":"roam","version":null,"kinds":["sink"],"platforms":null,"schema":null}`, "", ""},
		{"no name", `{"kinds":["sink"]}`, "no name", ""},
		{"an empty name", `{"name":""}`, "no name", ""},
		{"a name that is no string", `{"name":7}`, "no name", ""},
		{"the file's name counts", `{"name":"Roam Research","kinds":["sink"]}`, "", `calls itself "Roam Research"`},
		{"an unknown kind is broken", `{"name":"roam","kinds":["sinks"]}`, `unknown kind "sinks"; did you mean "sink"?`, ""},
		{"kinds that are no list", `{"name":"roam","kinds":"sink"}`, "kinds is not a list of strings", ""},
		{"platforms that are no list", `{"name":"roam","kinds":["sink"],"platforms":"linux"}`, "platforms is not a list of strings", ""},
		{"a version that is no string is passed over", `{"name":"roam","kinds":["sink"],"version":1}`, "", "version is passed over"},
		{"a schema that is none is passed over", `{"name":"roam","kinds":["sink"],"schema":{"type":"objekt"}}`, "", "schema is passed over"},
		{"not an object", `["roam"]`, "not a JSON object", ""},
		{"not JSON", `roam`, "not a JSON object", ""},
		{"nothing", ``, "not a JSON object", ""},
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
			if got := strings.Join(m.warnings, "\n"); !strings.Contains(got, c.warning) || (got == "") != (c.warning == "") {
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
		{"none means cross-platform", `[]`, "linux", true},
		{"this one among others", `["darwin","linux"]`, "linux", true},
		{"another", `["darwin"]`, "linux", false},
		{"macos is darwin", `["macos"]`, "darwin", true},
		{"windows", `["darwin","linux"]`, "windows", false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			m, err := parseInfo([]byte(`{"name":"n","platforms":`+c.platforms+`}`), "n")
			if err != nil {
				t.Fatal(err)
			}
			if err := m.supported(c.system); (err == nil) != c.supported || err != nil && !strings.Contains(err.Error(), "unsupported on "+c.system) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestSchema(t *testing.T) {
	s, err := compileSchema(json.RawMessage(`{"type":"object","required":["page"],"properties":{"page":{"type":"string"},"n":{"maximum":3}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ rule, config, want string }{
		{"what fits", `{"page":"today","n":3}`, ""},
		{"what is missing", `{}`, "config: missing property 'page'"},
		{"everything at once", `{"page":7,"n":4}`, "config.n: maximum: got 4, want 3; config.page: got number, want string"},
		{"what is no JSON", `{`, "unexpected EOF"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if err := s.check(json.RawMessage(c.config)); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	t.Run("no schema allows all", func(t *testing.T) {
		if err := (*schema)(nil).check(json.RawMessage(`7`)); err != nil {
			t.Error(err)
		}
	})
}

// TestHostileSchemas: a schema must cost neither time nor secrets.
func TestHostileSchemas(t *testing.T) {
	for _, c := range []struct{ rule, schema, want string }{
		{"no file is read", `{"$ref":"file:///etc/passwd"}`, "outside of the schema"},
		{"nothing is fetched", `{"$ref":"https://example.com/s.json"}`, "outside of the schema"},
		{"not even a metaschema", `{"$schema":"https://example.com/s.json"}`, "outside of the schema"},
		{"references that double are too many", doubling(40), "over 32 references"},
		{"a number with a large exponent", `{"minimum":1e999999999}`, "too long"},
		{"a long number", `{"minimum":` + strings.Repeat("9", 100) + `}`, "too long"},
		{"a large schema", `{"title":"` + strings.Repeat("x", mostSchema) + `"}`, "over 256 KiB"},
		{"a pattern Go does not know", `{"pattern":"(?=a)b"}`, "regex"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if _, err := compileSchema(json.RawMessage(c.schema)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	t.Run("one that refers to itself without end is a fault, not a hang", func(t *testing.T) {
		s, err := compileSchema(json.RawMessage(`{"allOf":[{"$ref":"#"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.check(json.RawMessage(`{}`)); err == nil {
			t.Error("it fits")
		}
	})
	t.Run("as many references as are allowed are checked in no time", func(t *testing.T) {
		s, err := compileSchema(json.RawMessage(doubling(15)))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.check(json.RawMessage(`{}`)); err != nil {
			t.Error(err)
		}
	})
}

// doubling is a schema of n definitions, each of which refers twice to the next.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{}}}`, n)
	return b.String()
}

func FuzzParseInfo(f *testing.F) {
	f.Add([]byte(`{"name":"n","kinds":["sink"],"platforms":["linux"],"schema":{"type":"object"}}`))
	f.Add([]byte(`{"name":"n","schema":{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#"}]}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseInfo(data, "n")
		if err == nil && m.schema != nil {
			_ = m.schema.check(json.RawMessage(`{"page":"today","n":[1,{}]}`)) // must come to an end
		}
	})
}
