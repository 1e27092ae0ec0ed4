package kaged_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/dialect/kaged"
)

// schemaOf compiles a schema the way it comes: in a manifest.
func schemaOf(t testing.TB, yaml string) *kaged.Schema {
	t.Helper()
	m, problems := kaged.ParseManifest([]byte(minimal + "config_schema: " + yaml + "\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return m.ConfigSchema
}

func TestSchemaCheck(t *testing.T) {
	for _, tc := range []struct {
		rule, schema, value string
		want                []string
	}{
		{rule: "what fits has no errors", schema: "{properties: {a: {type: integer}}}", value: `{"a":1.0,"b":"c"}`},
		{rule: "every error at once, by path", schema: "{properties: {b: {type: string}, a: {type: [integer, 'null']}}}",
			value: `{"b":1,"a":"x"}`, want: []string{
				"a: must be of type null or integer, is string", "b: must be of type string, is number"}},
		{rule: "a path into lists and odd names", schema: "{properties: {a b: {items: {properties: {c: {type: string}}}}}}",
			value: `{"a b":[{},{"c":0}]}`, want: []string{`["a b"][1].c: must be of type string, is number`}},
		{rule: "a number in a path may be a name", schema: "{additionalProperties: {type: string}}",
			value: `{"0":1}`, want: []string{"0: must be of type string, is number"}},
		{rule: "required names each field", schema: "{required: [a, b]}", value: "{}",
			want: []string{"a: is required", "b: is required"}},
		{rule: "additionalProperties names each field", schema: "{additionalProperties: false, properties: {a: {}}}",
			value: `{"a":1,"b":2,"c":3}`,
			want:  []string{"b: is not a field the schema knows", "c: is not a field the schema knows"}},
		{rule: "propertyNames", schema: "{propertyNames: {pattern: '^a'}}", value: `{"b":1}`,
			want: []string{"b: has a name the schema does not allow"}},
		{rule: "enum", schema: "{properties: {a: {enum: [x, 1, null]}}}", value: `{"a":"y"}`,
			want: []string{`a: must be one of "x", 1, null`}},
		{rule: "const", schema: "{properties: {a: {const: {b: 1}}}}", value: `{"a":1}`,
			want: []string{`a: must be {"b":1}`}},
		{rule: "bounds", schema: "{properties: {a: {minimum: 1}, b: {maximum: 0.5}, c: {exclusiveMinimum: 2}, d: {exclusiveMaximum: 3}, e: {multipleOf: 5}}}",
			value: `{"a":0,"b":1,"c":2,"d":3,"e":4}`, want: []string{
				"a: must be at least 1", "b: must be at most 0.5", "c: must be greater than 2",
				"d: must be less than 3", "e: must be a multiple of 5"}},
		{rule: "lengths", schema: "{minProperties: 9, properties: {a: {minLength: 2}, b: {maxLength: 1}, c: {minItems: 1}, d: {maxItems: 0}}}",
			value: `{"a":"é","b":"ab","c":[],"d":[1]}`, want: []string{
				"must have at least 9 fields", "a: must have at least 2 characters", "b: must have at most 1 characters",
				"c: must have at least 1 items", "d: must have at most 0 items"}},
		{rule: "uniqueItems", schema: "{properties: {a: {uniqueItems: true}}}", value: `{"a":[1,2,1]}`,
			want: []string{"a: must not repeat an item: 0 and 2 are the same"}},
		{rule: "dependentRequired", schema: "{dependentRequired: {a: [b]}}", value: `{"a":1}`,
			want: []string{`has "a", so it must have "b" too`}},
		{rule: "not", schema: "{properties: {a: {not: {type: string}}}}", value: `{"a":"x"}`,
			want: []string{`a: must not fit the schema under "not"`}},
		{rule: "a field that is forbidden", schema: "{properties: {a: false}}", value: `{"a":1}`, want: []string{"a: is not allowed"}},
		{rule: "anyOf names what would do", schema: "{properties: {a: {anyOf: [{type: string}, {type: array}]}}}", value: `{"a":1}`,
			want: []string{"a: must be of type string, is number, or must be of type array, is number"}},
		{rule: "anyOf goes into the form that is meant",
			schema: "{properties: {a: {anyOf: [{type: string}, {type: object, properties: {b: {type: string}}}]}}}", value: `{"a":{"b":1}}`,
			want: []string{"a.b: must be of type string, is number"}},
		{rule: "oneOf that fits twice", schema: "{properties: {a: {oneOf: [{}, {type: string}]}}}", value: `{"a":"x"}`,
			want: []string{"a: must fit exactly one of several schemas, fits more"}},
		{rule: "references within the schema", schema: "{$defs: {a: {type: string}}, properties: {b: {$ref: '#/$defs/a'}}}", value: `{"b":1}`,
			want: []string{"b: must be of type string, is number"}},
		{rule: "numbers are exact", schema: "{properties: {a: {maximum: 12345678901234567890}, b: {multipleOf: 0.01}}}",
			value: `{"a":12345678901234567891,"b":19.99}`, want: []string{"a: must be at most 12345678901234567890"}},
		{rule: "a number beyond all bounds", schema: "{properties: {a: {maximum: 1}}}", value: `{"a":[1e99999999]}`,
			want: []string{"a[0]: the number is out of all bounds"}},
		{rule: "what is not JSON", schema: "{}", value: `{"a":`, want: []string{"is not valid JSON"}},
		{rule: "more than one value", schema: "{}", value: `{} {}`, want: []string{"is not valid JSON"}},
		{rule: "a pattern only ECMAScript has lets everything pass", schema: "{properties: {a: {pattern: '^(?!x)'}}}", value: `{"a":"x"}`},
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

func TestSchemaErrorsNeverRepeatTheValue(t *testing.T) {
	const secret = "hunter2"
	for _, schema := range []string{
		"{type: integer}", "{enum: [a]}", "{const: a}", "{pattern: '^a$'}", "{minLength: 99}", "{maxLength: 1}", "{not: {}}",
		"{anyOf: [{type: integer}, {pattern: '^a$'}]}", "{oneOf: [{pattern: '^a$'}]}",
		"{$schema: 'http://json-schema.org/draft-07/schema#', format: ipv4}",
	} {
		s := schemaOf(t, "{properties: {key: "+schema+"}}")
		if strings.Contains(schema, "$schema") { // a draft is of the whole schema
			s = schemaOf(t, strings.Replace(schema, "format: ipv4", "properties: {key: {format: ipv4}}", 1))
		}
		errs := s.Check(json.RawMessage(`{"key":"` + secret + `"}`))
		if len(errs) == 0 {
			t.Errorf("%s: fits", schema)
		}
		if strings.Contains(fmt.Sprint(errs), secret) {
			t.Errorf("%s: %v", schema, errs)
		}
	}
}

// Sixty definitions, each twice the next: 2^60 steps for a validator.
func TestASchemaThatWouldTakeForeverIsGivenUp(t *testing.T) {
	var defs strings.Builder
	for i := range 60 {
		fmt.Fprintf(&defs, "d%d: {allOf: [{$ref: '#/$defs/d%d'}, {$ref: '#/$defs/d%d'}]}, ", i, i+1, i+1)
	}
	for rule, schema := range map[string]string{
		"doubling": "{$defs: {" + defs.String() + "d60: {}}, $ref: '#/$defs/d0'}",
		"endless":  "{$ref: '#'}",
	} {
		t.Run(rule, func(t *testing.T) {
			errs := schemaOf(t, schema).Check(json.RawMessage("{}"))
			want := "the schema is too complex to check this against, or refers to itself without end"
			if len(errs) != 1 || errs[0].String() != want {
				t.Errorf("got %v", errs)
			}
		})
	}
}

func TestALongListOfErrorsIsCut(t *testing.T) {
	value := `{"a":[` + strings.Repeat("1,", 499) + `1]}`
	errs := schemaOf(t, "{properties: {a: {items: {type: string}}}}").Check(json.RawMessage(value))
	if len(errs) != 101 || errs[100].String() != "and 400 more" {
		t.Errorf("%d errors, the last is %v", len(errs), errs[len(errs)-1])
	}
}

func TestARecursiveSchemaIsFine(t *testing.T) {
	s := schemaOf(t, "{properties: {name: {type: string}, children: {items: {$ref: '#'}}}}")
	if errs := s.Check(json.RawMessage(`{"children":[{"children":[{"name":"a"}]}]}`)); len(errs) > 0 {
		t.Error(errs)
	}
	errs := s.Check(json.RawMessage(`{"children":[{"children":[{"name":1}]}]}`))
	if len(errs) != 1 || errs[0].Path != "children[0].children[0].name" {
		t.Error(errs)
	}
}

func TestPatternsThatOnlyECMAScriptHas(t *testing.T) {
	for _, pattern := range []string{
		"a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b", `(a)\1`, `(?<n>a)\k<n>`, `\u0041`, `\cJ`, "a{1,2000}", "[^]*", "[]", `\p{Script=Greek}`,
	} {
		m, problems := kaged.ParseManifest([]byte(minimal + "config_schema: {properties: {a: {pattern: '" + pattern + "'}}}\n"))
		if len(problems) > 0 || len(m.Warnings) != 1 {
			t.Errorf("%s: problems %v, warnings %v; want one warning", pattern, problems, m.Warnings)
		}
	}
	for _, pattern := range []string{"(a", "a**", "[b-a]", "(?z)", "[a"} {
		if _, problems := kaged.ParseManifest([]byte(minimal + "config_schema: {pattern: '" + pattern + "'}\n")); len(problems) != 1 {
			t.Errorf("%s: problems %v; want one", pattern, problems)
		}
	}
}

func TestNoSchemaAllowsEverything(t *testing.T) {
	var s *kaged.Schema
	if s.Check(json.RawMessage("[]")) != nil || s.JSON() != nil || s.Fields() != nil {
		t.Error("a nil schema is not empty")
	}
}

func TestFieldsAreASchemasOwn(t *testing.T) {
	s := schemaOf(t, "{properties: {b: {properties: {x: {}}}, a: {}}, patternProperties: {c: {}}}")
	fields := s.Fields()
	if !slices.Equal(fields, []string{"b", "a"}) {
		t.Errorf("got %q", fields)
	}
	fields[0] = "changed"
	if s.Fields()[0] != "b" {
		t.Error("the caller's copy is the schema's own")
	}
}

func FuzzSchemaCheck(f *testing.F) {
	for _, pair := range [][2]string{
		{`{"type":"object","required":["a"]}`, `{"a":1e400}`},
		{`{"$defs":{"a":{"$dynamicAnchor":"n"}},"$dynamicRef":"#n","unevaluatedProperties":false}`, `{"b":{}}`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","id":"#a","definitions":{"b":{"id":"#a"}}}`, `{}`},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveRef":"#","items":[{"$ref":"#/x"}],"x":{"$id":"y"}}`, `[1]`},
		{`{"oneOf":[{"multipleOf":1e-300},{"pattern":"\\u0041"}],"not":{"const":0.1}}`, `0.3`},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, schema, value string) {
		m, _ := kaged.ParseManifest([]byte(minimal + "config_schema: " + schema + "\n"))
		for _, e := range m.ConfigSchema.Check(json.RawMessage(value)) {
			if e.Message == "" {
				t.Fatalf("an error without a message at %q", e.Path)
			}
		}
	})
}
