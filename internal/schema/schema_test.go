package schema_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
	"github.com/patchbay-dev/patchbay/internal/schema"
	"github.com/patchbay-dev/patchbay/rawjson"
)

func schemaOf(t testing.TB, text string) *schema.Schema {
	t.Helper()
	s, faults := schema.Compile(json.RawMessage(text))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return s
}

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		rule, schema, value string
		want                []string
	}{
		{rule: "a value that fits has no errors", schema: `{"properties":{"a":{"type":"integer"}}}`, value: `{"a":1.0,"b":"c"}`},
		{rule: "every error at once, by path", schema: `{"properties":{"b":{"type":"string"},"a":{"type":["integer","null"]}}}`,
			value: `{"b":1,"a":"x"}`, want: []string{
				"a: must be of type null or integer, is string", "b: must be of type string, is number"}},
		{rule: "a path into lists and odd names", schema: `{"properties":{"a b":{"items":{"properties":{"c":{"type":"string"}}}}}}`,
			value: `{"a b":[{},{"c":0}]}`, want: []string{`["a b"][1].c: must be of type string, is number`}},
		{rule: "a number in a path may be a name", schema: `{"additionalProperties":{"type":"string"}}`,
			value: `{"0":1}`, want: []string{"0: must be of type string, is number"}},
		{rule: "required names each field", schema: `{"required":["a","b"]}`, value: "{}",
			want: []string{"a: is required", "b: is required"}},
		{rule: "additionalProperties names each field", schema: `{"additionalProperties":false,"properties":{"a":{}}}`,
			value: `{"a":1,"b":2,"c":3}`,
			want:  []string{"b: is not a field the schema knows", "c: is not a field the schema knows"}},
		{rule: "propertyNames", schema: `{"propertyNames":{"pattern":"^a"}}`, value: `{"b":1}`,
			want: []string{"b: has a name the schema does not allow"}},
		{rule: "enum", schema: `{"properties":{"a":{"enum":["x",1,null]}}}`, value: `{"a":"y"}`,
			want: []string{`a: must be one of "x", 1, null`}},
		{rule: "const", schema: `{"properties":{"a":{"const":{"b":1}}}}`, value: `{"a":1}`,
			want: []string{`a: must be {"b":1}`}},
		{rule: "bounds", schema: `{"properties":{"a":{"minimum":1},"b":{"maximum":0.5},"c":{"exclusiveMinimum":2},"d":{"exclusiveMaximum":3},"e":{"multipleOf":5}}}`,
			value: `{"a":0,"b":1,"c":2,"d":3,"e":4}`, want: []string{
				"a: must be at least 1", "b: must be at most 0.5", "c: must be greater than 2",
				"d: must be less than 3", "e: must be a multiple of 5"}},
		{rule: "lengths", schema: `{"minProperties":9,"properties":{"a":{"minLength":2},"b":{"maxLength":1},"c":{"minItems":1},"d":{"maxItems":0}}}`,
			value: `{"a":"é","b":"ab","c":[],"d":[1]}`, want: []string{
				"must have at least 9 fields", "a: must have at least 2 characters", "b: must have at most 1 character",
				"c: must have at least 1 item", "d: must have at most 0 items"}},
		{rule: "a limit of one is in the singular", schema: `{"maxProperties":1,"properties":{"a":{"minLength":1.0},"b":{"maxItems":1}}}`,
			value: `{"a":"","b":[1,2]}`, want: []string{
				"must have at most 1 field", "a: must have at least 1 character", "b: must have at most 1 item"}},
		{rule: "uniqueItems", schema: `{"properties":{"a":{"uniqueItems":true}}}`, value: `{"a":[1,2,1]}`,
			want: []string{"a: must not repeat an item: 0 and 2 are the same"}},
		{rule: "dependentRequired", schema: `{"dependentRequired":{"a":["b"]}}`, value: `{"a":1}`,
			want: []string{`has "a", so it must have "b" too`}},
		{rule: "not", schema: `{"properties":{"a":{"not":{"type":"string"}}}}`, value: `{"a":"x"}`,
			want: []string{`a: must not fit the schema under "not"`}},
		{rule: "a field that is forbidden", schema: `{"properties":{"a":false}}`, value: `{"a":1}`, want: []string{"a: is not allowed"}},
		{rule: "anyOf lists the allowed types", schema: `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"array"}]}}}`, value: `{"a":1}`,
			want: []string{"a: must be of type string, is number, or must be of type array, is number"}},
		{rule: "anyOf reports the errors of the schema that fits best",
			schema: `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"object","properties":{"b":{"type":"string"}}}]}}}`, value: `{"a":{"b":1}}`,
			want: []string{"a.b: must be of type string, is number"}},
		{rule: "oneOf that fits twice", schema: `{"properties":{"a":{"oneOf":[{},{"type":"string"}]}}}`, value: `{"a":"x"}`,
			want: []string{"a: must fit exactly one of several schemas, but fits more"}},
		{rule: "references within the schema", schema: `{"$defs":{"a":{"type":"string"}},"properties":{"b":{"$ref":"#/$defs/a"}}}`, value: `{"b":1}`,
			want: []string{"b: must be of type string, is number"}},
		{rule: "numbers are exact", schema: `{"properties":{"a":{"maximum":12345678901234567890},"b":{"multipleOf":0.01}}}`,
			value: `{"a":12345678901234567891,"b":19.99}`, want: []string{"a: must be at most 12345678901234567890"}},
		{rule: "a number that is too large", schema: `{"properties":{"a":{"maximum":1}}}`, value: `{"a":[1e99999999]}`,
			want: []string{"a[0]: the number is too large or too small"}},
		{rule: "a value that is not JSON", schema: `{}`, value: `{"a":`, want: []string{"is not valid JSON"}},
		{rule: "more than one value", schema: `{}`, value: `{} {}`, want: []string{"is not valid JSON"}},
		{rule: "a pattern that only ECMAScript has allows everything", schema: `{"properties":{"a":{"pattern":"^(?!x)"}}}`, value: `{"a":"x"}`},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			var got []string
			for _, e := range schemaOf(t, tc.schema).Check(json.RawMessage(tc.value)) {
				got = append(got, e.String())
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}

func TestErrorsNeverRepeatTheValue(t *testing.T) {
	const secret = "hunter2"
	in := func(field string) string { return `{"properties":{"key":` + field + `}}` }
	for _, text := range []string{
		in(`{"type":"integer"}`), in(`{"enum":["a"]}`), in(`{"const":"a"}`), in(`{"pattern":"^a$"}`),
		in(`{"minLength":99}`), in(`{"maxLength":1}`), in(`{"not":{}}`),
		in(`{"anyOf":[{"type":"integer"},{"pattern":"^a$"}]}`), in(`{"oneOf":[{"pattern":"^a$"}]}`),
		`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"key":{"format":"ipv4"}}}`,
	} {
		errs := schemaOf(t, text).Check(json.RawMessage(`{"key":"` + secret + `"}`))
		if len(errs) == 0 {
			t.Errorf("%s: fits", text)
		}
		if strings.Contains(fmt.Sprint(errs), secret) {
			t.Errorf("%s: %v", text, errs)
		}
	}
}

// TestASchemaThatWouldTakeForeverIsGivenUp: a check that would take 2^60 steps, or have no end, is
// stopped.
func TestASchemaThatWouldTakeForeverIsGivenUp(t *testing.T) {
	for rule, text := range map[string]string{
		"doubling": doubling(60),
		"endless":  `{"$ref":"#"}`,
	} {
		t.Run(rule, func(t *testing.T) {
			errs := schemaOf(t, text).Check(json.RawMessage("{}"))
			want := "the schema is too complex to be checked, or refers to itself without end"
			if len(errs) != 1 || errs[0].String() != want {
				t.Errorf("got %v", errs)
			}
		})
	}
}

// TestThousandsOfReferencesAreFollowed: a check that follows some 8,000 references is within the
// limits.
func TestThousandsOfReferencesAreFollowed(t *testing.T) {
	if errs := schemaOf(t, doubling(12)).Check(json.RawMessage("{}")); len(errs) > 0 {
		t.Error(errs)
	}
}

// doubling returns a schema of n definitions, each of which refers twice to the next.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{}}}`, n)
	return b.String()
}

func TestALongListOfErrorsIsCut(t *testing.T) {
	value := `{"a":[` + strings.Repeat("1,", 499) + `1]}`
	errs := schemaOf(t, `{"properties":{"a":{"items":{"type":"string"}}}}`).Check(json.RawMessage(value))
	if len(errs) != 101 || errs[100].String() != "and 400 more" {
		t.Errorf("%d errors, the last is %v", len(errs), errs[len(errs)-1])
	}
}

func TestARecursiveSchemaIsFine(t *testing.T) {
	s := schemaOf(t, `{"properties":{"name":{"type":"string"},"children":{"items":{"$ref":"#"}}}}`)
	if errs := s.Check(json.RawMessage(`{"children":[{"children":[{"name":"a"}]}]}`)); len(errs) > 0 {
		t.Error(errs)
	}
	errs := s.Check(json.RawMessage(`{"children":[{"children":[{"name":1}]}]}`))
	if len(errs) != 1 || errs[0].Path != "children[0].children[0].name" {
		t.Error(errs)
	}
}

func TestPatternsThatOnlyECMAScriptHas(t *testing.T) {
	in := func(pattern string) string {
		return string(rawjson.Object{{Name: "pattern", Value: rawjson.String(pattern)}}.JSON())
	}
	for _, pattern := range []string{
		"a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b", `(a)\1`, `(?<n>a)\k<n>`, `\u0041`, `\cJ`, "a{1,2000}", "[^]*", "[]", `\p{Script=Greek}`,
	} {
		if u := schemaOf(t, in(pattern)).Unchecked(); len(u) != 1 || !slices.Equal(u[0].At, []string{"pattern"}) {
			t.Errorf("%s: unchecked %v; want one", pattern, u)
		}
	}
	for _, pattern := range []string{"(a", "a**", "[b-a]", "(?z)", "[a"} {
		if _, faults := schema.Compile(json.RawMessage(in(pattern))); len(faults) != 1 {
			t.Errorf("%s: faults %v; want one", pattern, faults)
		}
	}
}

// TestCompileRefuses: schemas that would cost much time, or read files and addresses, are refused.
func TestCompileRefuses(t *testing.T) {
	for _, c := range []struct{ rule, schema, want string }{
		{"a schema that is not JSON", `{"type":`, "is not valid JSON: unexpected EOF"},
		{"an invalid schema", `{"properties":{"a":{"type":"objekt"}}}`, "properties.a.type: must be one of "},
		{"an empty list of schemas", `{"anyOf":[]}`, "anyOf: must have at least 1 item"},
		{"a file", `{"$ref":"file:///etc/passwd"}`, `$ref: refers to "file:///etc/passwd", outside of the schema`},
		{"an address", `{"allOf":[{"$ref":"https://example.com/s.json"}]}`, `allOf.0.$ref: refers to "https://example.com/s.json", outside of the schema`},
		{"an unknown metaschema", `{"$schema":"https://example.com/s.json"}`, `$schema: refers to "https://example.com/s.json", outside of the schema`},
		{"a reference that leads nowhere", `{"$ref":"#/$defs/a"}`, `$ref: refers to "#/$defs/a", which does not exist`},
		{"a number with a large exponent", `{"minimum":1e999999999}`, "minimum: the number is too large or too small"},
		{"a long number", `{"minimum":` + strings.Repeat("9", schema.MaxDigits+1) + `}`, "minimum: the number has too many digits"},
		{"a schema of many values", `{"enum":[` + strings.Repeat("1,", 2000) + `2]}`, "is too large: 2003 values, at most 2000"},
		{"a schema of many bytes", `{"title":"` + strings.Repeat("x", 256<<10) + `"}`, "is too large: over 256 KiB"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s, faults := schema.Compile(json.RawMessage(c.schema))
			if s != nil || len(faults) != 1 || !strings.HasPrefix(faults[0].String(), c.want) {
				t.Errorf("faults %v, want %q", faults, c.want)
			}
		})
	}
}

func TestFaultsComeInOneOrder(t *testing.T) {
	text := json.RawMessage(`{"properties":{"a":{"type":1},"b":{"type":2},"c":{"type":3},"d":{"minimum":"x"}}}`)
	_, first := schema.Compile(text)
	for range 20 {
		if _, again := schema.Compile(text); len(again) < 4 || fmt.Sprint(again) != fmt.Sprint(first) {
			t.Fatalf("%v, then %v", first, again)
		}
	}
}

func TestAnErrorInANamedValue(t *testing.T) {
	for _, c := range []struct{ path, want string }{
		{"", "config: m"}, {"a[0].b", "config.a[0].b: m"}, {`["a b"].c`, `config["a b"].c: m`},
	} {
		if got := (schema.Error{Path: c.path, Message: "m"}).In("config"); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestNoSchemaAllowsEverything(t *testing.T) {
	var s *schema.Schema
	if s.Check(json.RawMessage("[]")) != nil || s.JSON() != nil || s.Fields() != nil || s.Unchecked() != nil {
		t.Error("a nil schema is not empty")
	}
}

// TestUnnamed: fields that a schema allows only because it says nothing about them.
func TestUnnamed(t *testing.T) {
	for text, want := range map[string]string{
		`{"properties":{"a":{}}}`:                                              "b c",
		`{"properties":{"a":{"type":"string"}},"required":["z"]}`:              "b c",
		`{"properties":{"a":{}},"additionalProperties":{"type":"integer"}}`:    "",
		`{"patternProperties":{"^[ab]$":{}}}`:                                  "c",
		`{"$ref":"#/$defs/x","$defs":{"x":{"properties":{"a":{},"b":{}}}}}`:    "c",
		`{"anyOf":[{"properties":{"a":{}}},{"properties":{"b":{}},"not":{}}]}`: "b c",
		`{"properties":{"a":{}},"unevaluatedProperties":{"type":["integer"]}}`: "",
		`{}`: "a b c",
		`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"c":{}}}`: "a b",
	} {
		if got := schemaOf(t, text).Unnamed(json.RawMessage(`{"c":1,"b":2,"a":3}`)); strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	var none *schema.Schema
	if got := none.Unnamed(json.RawMessage(`{"a":1}`)); !slices.Equal(got, []string{"a"}) {
		t.Errorf("no schema: %q", got)
	}
}

func TestFieldsReturnsACopy(t *testing.T) {
	s := schemaOf(t, `{"properties":{"b":{"properties":{"x":{}}},"a":{}},"patternProperties":{"c":{}}}`)
	fields := s.Fields()
	if !slices.Equal(fields, []string{"b", "a"}) {
		t.Errorf("got %q", fields)
	}
	fields[0] = "changed"
	if s.Fields()[0] != "b" {
		t.Error("the caller can change the schema through the returned list")
	}
}

func FuzzCheck(tf *testing.F) {
	f := variants.Of(tf)
	for _, pair := range [][2]string{
		{`{"type":"object","required":["a"]}`, `{"a":1e400}`},
		{`{"$defs":{"a":{"$dynamicAnchor":"n"}},"$dynamicRef":"#n","unevaluatedProperties":false}`, `{"b":{}}`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","id":"#a","definitions":{"b":{"id":"#a"}}}`, `{}`},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveRef":"#","items":[{"$ref":"#/x"}],"x":{"$id":"y"}}`, `[1]`},
		{`{"oneOf":[{"multipleOf":1e-300},{"pattern":"\\u0041"}],"not":{"const":0.1}}`, `0.3`},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		s, _ := schema.Compile(json.RawMessage(text))
		for _, e := range s.Check(json.RawMessage(value)) {
			if e.Message == "" {
				t.Fatalf("an error without a message at %q", e.Path)
			}
		}
	})
}
