package sample

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
	"github.com/patchbay-dev/patchbay/internal/schema"
)

// paths returns a path for fields with "file" in their name.
func paths(field string) (string, bool) { return "notes/file", strings.Contains(field, "file") }

// TestAll: values fit their schema, are the same each time, and exist in all sizes that differ.
func TestAll(t *testing.T) {
	for name, c := range map[string]struct {
		schema string
		want   []string // some of the samples; nil if there must be none
	}{
		"no schema":      {``, []string{`{}`}},
		"required":       {`{"type":"object","required":["a"],"properties":{"a":{"type":"string"},"b":{"type":"boolean"}}}`, []string{`{"a":"a"}`, `{"a":"text","b":true}`}},
		"a path":         {`{"type":"object","properties":{"log_file":{"type":"string"}}}`, []string{`{}`, `{"log_file":"notes/file"}`}},
		"limits":         {`{"type":"integer","minimum":3,"maximum":9}`, []string{`3`, `6`, `9`}},
		"exclusive":      {`{"type":"integer","exclusiveMinimum":3,"exclusiveMaximum":5}`, []string{`4`}},
		"steps":          {`{"type":"number","minimum":1,"multipleOf":0.5,"maximum":2}`, []string{`1`, `1.5`, `2`}},
		"a pattern":      {`{"type":"string","pattern":"^[A-Z]{2}-[0-9]+$"}`, []string{`"AA-0"`, `"AA-000"`}},
		"a format":       {`{"type":"string","format":"date"}`, []string{`"2026-01-15"`}},
		"an enum":        {`{"enum":["x","y"]}`, []string{`"x"`, `"y"`}},
		"a constant":     {`{"const":{"a":1}}`, []string{`{"a":1}`}},
		"an example":     {`{"type":"string","examples":["given"]}`, []string{`"a"`, `"given"`}},
		"a list":         {`{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":3}`, []string{`[0,0]`, `[1,1]`}},
		"different ones": {`{"type":"array","items":{"type":"string"},"minItems":2,"uniqueItems":true}`, []string{`["a","a1"]`}},
		"a reference":    {`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object","required":["b"],"properties":{"b":{"$ref":"#/$defs/c"}}},"c":{"const":7}}}`, []string{`{"b":7}`}},
		"itself":         {`{"type":"object","properties":{"next":{"$ref":"#"}}}`, []string{`{}`}},
		"all of":         {`{"allOf":[{"type":"object","required":["a"]},{"properties":{"a":{"const":1}}}]}`, []string{`{"a":1}`}},
		"any of":         {`{"anyOf":[{"type":"string","minLength":2},{"type":"null"}]}`, []string{`"aa"`}},
		"null":           {`{"type":"null"}`, []string{`null`}},
		"nothing fits":   {`{"allOf":[{"type":"string"},{"type":"integer"}],"not":{}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := All(json.RawMessage(c.schema), paths)
			var texts []string
			for _, s := range got {
				texts = append(texts, string(s.JSON))
				if compiled, _ := schema.Compile(json.RawMessage(c.schema)); c.schema != "" && len(compiled.Check(s.JSON)) > 0 {
					t.Errorf("%s does not fit", s.JSON)
				}
			}
			for _, want := range c.want {
				if !slices.Contains(texts, want) {
					t.Errorf("%s is not among %s", want, texts)
				}
			}
			if c.want == nil && len(got) > 0 {
				t.Errorf("made %s", texts)
			}
			if again := All(json.RawMessage(c.schema), paths); fmt.Sprint(again) != fmt.Sprint(got) {
				t.Errorf("another time: %s, %s", got, again)
			}
		})
	}
}

// FuzzAll: for any schema, the values fit, and are made quickly.
func FuzzAll(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{`{}`, `{"type":["string","null"]}`, `{"$ref":"#/a","a":{"$ref":"#"}}`, `{"minItems":1e9,"type":"array"}`, `{"pattern":"(a|b)*c{3}"}`,
		`{"properties":{"a":false},"required":["a"]}`, `{"type":"integer","minimum":-1e30,"multipleOf":1e-9}`, `{"minProperties":1000000000}`, `{"minLength":999999999}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range All(json.RawMessage(text), paths) {
			if compiled, faults := schema.Compile(json.RawMessage(text)); text != "" && (len(faults) > 0 || len(compiled.Check(s.JSON)) > 0) {
				t.Errorf("%s does not fit %s", s.JSON, text)
			}
		}
	})
}

// TestObject: Object returns a whole object; if that does not fit, a small one; and if nothing
// fits, one to correct.
func TestObject(t *testing.T) {
	for _, c := range [][2]string{
		{``, `{}`},
		{`{"type":"object","required":["a"],"properties":{"a":{"const":1},"file":{"type":"string"}}}`, `{"a":1,"file":"notes/file"}`},
		{`{"type":"object","required":["a"],"properties":{"a":{"const":1},"b":{"not":{}}}}`, `{"a":1}`},
		{`{"type":"object","required":["b"],"properties":{"b":{"not":{}}}}`, `{"b":"a"}`},
		{`{"type":"string"}`, `{}`},
		{`{"type":7}`, `{}`},
	} {
		if got := string(Object(json.RawMessage(c[0]), paths)); got != c[1] {
			t.Errorf("%s is given %s, want %s", c[0], got, c[1])
		}
	}
}
