package kaged_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/dialect/kaged"
)

// knobbed returns the end of a manifest with one knob, which begins in line 10.
func knobbed(knob string) string {
	return "config_schema:\n  properties: {heat: {}, deep.er: {}, server: {properties: {port: {minimum: 1, maximum: 9}}}}\nknobs:\n  k: " + knob
}

func TestKnobs(t *testing.T) {
	const types = "must be one of range, int_range, enum, boolean, text, multiline, model_alias, path, got "
	const heat = "label: L, binds_to: config.heat"
	cases := []manifestCase{
		{rule: "a knob is a mapping", text: "7", problems: []string{
			"10:6: knobs.k: must be a mapping with type, label and binds_to, got a number; put a key before each value: { KEY: … }"}},
		{rule: "type, label and binds_to are required", text: "{}", problems: []string{
			"10:6: knobs.k.label: is required; write label: …",
			"10:6: knobs.k.binds_to: is required; write binds_to: …",
			"10:6: knobs.k.type: is required; write type: …"}},
		{rule: "the keys of a knob of an unknown type are not reported", text: "{type: slider, " + heat + ", min: 1}", problems: []string{
			"10:13: knobs.k.type: " + types + `"slider"; write one of them`}},
		{rule: "type must be known", text: "{type: slider, " + heat + "}", problems: []string{
			"10:13: knobs.k.type: " + types + `"slider"; write one of them`}},
		{rule: "type is a string", text: "{type: [range], " + heat + "}", problems: []string{
			"10:13: knobs.k.type: must be a string, got a list; write a string"}},
		{rule: "label is not empty", text: "{type: text, label: '', binds_to: config.heat}", problems: []string{
			"10:26: knobs.k.label: must not be empty; write something"}},
		{rule: "description is a string", text: "{type: text, description: 5, " + heat + "}", problems: []string{
			`10:32: knobs.k.description: must be a string, got a number; put it into quotes: "…"`}},
		{rule: "binds_to names a field of config", text: "{type: text, label: L, binds_to: heat}", problems: []string{
			`10:39: knobs.k.binds_to: must be config.<field>, got "heat"`}},
		{rule: "binds_to names a field", text: "{type: text, label: L, binds_to: config.}", problems: []string{
			`10:39: knobs.k.binds_to: must be config.<field>, got "config."`}},
		{rule: "the field must be in config_schema", text: "{type: text, label: L, binds_to: config.haet}", problems: []string{
			`10:39: knobs.k.binds_to: config_schema has no field "haet"; did you mean heat?`}},
		{rule: "the field may have a dot in its name", text: "{type: text, label: L, binds_to: config.deep.er}"},
		{rule: "binds_to must not name system_config", text: "{type: text, label: L, binds_to: system_config.heat}", problems: []string{
			"10:39: knobs.k.binds_to: a knob must not be bound to system_config: secrets are not for knobs"}},
		{rule: "binds_to may name a path of fields", text: "{type: text, label: L, binds_to: config.server.port}"},
		{rule: "every field of the path must be there", text: "{type: text, label: L, binds_to: config.server.prot}", problems: []string{
			`10:39: knobs.k.binds_to: config_schema has no field "server.prot"`}},
		{rule: "range demands neither min nor max", text: "{type: range, " + heat + "}"},
		{rule: "min and max are numbers", text: "{type: range, min: low, max: '1', " + heat + "}", problems: []string{
			"10:25: knobs.k.min: must be a number, got a string; write a number",
			"10:35: knobs.k.max: must be a number, got a string; leave out the quotes"}},
		{rule: "min is less than max", text: "{type: range, min: 1, max: 1.0, " + heat + "}", problems: []string{
			"10:25: knobs.k.min: must be less than max"}},
		{rule: "step is greater than 0", text: "{type: range, min: 0, max: 1, step: 0, " + heat + "}", problems: []string{
			"10:42: knobs.k.step: must be greater than 0"}},
		{rule: "int_range is of whole numbers", text: "{type: int_range, min: 0.5, max: 3, step: 0.5, default: 1.5, " + heat + "}", problems: []string{
			`10:29: knobs.k.min: must be a whole number, got "0.5"`,
			`10:48: knobs.k.step: must be a whole number, got "0.5"`,
			`10:62: knobs.k.default: must be a whole number`}},
		{rule: "the default of a range is a number", text: "{type: range, min: 0, max: 1, default: x, " + heat + "}", problems: []string{
			"10:45: knobs.k.default: must be a number, got a string"}},
		{rule: "the default of a range is in it", text: "{type: range, min: 0, max: 1, default: 1.5, " + heat + "}", problems: []string{
			"10:45: knobs.k.default: must be from 0 to 1"}},
		{rule: "enum demands no values", text: "{type: enum, " + heat + "}"},
		{rule: "the limits of the field hold for the default", text: "{type: range, label: L, binds_to: config.server.port, default: 10}", problems: []string{
			"10:69: knobs.k.default: must be from 1 to 9"}},
		{rule: "values is a list", text: "{type: enum, values: a, " + heat + "}", problems: []string{
			"10:27: knobs.k.values: must be a list of values, got a string; put it into brackets: […]"}},
		{rule: "values has at least one", text: "{type: enum, values: [], " + heat + "}", problems: []string{
			"10:27: knobs.k.values: must have at least one value"}},
		{rule: "a value is a scalar", text: "{type: enum, values: [a, [b]], " + heat + "}", problems: []string{
			"10:31: knobs.k.values[1]: must be a string, a number or a boolean, got a list"}},
		{rule: "a value is there once", text: "{type: enum, values: [a, 1, a], " + heat + "}", problems: []string{
			"10:34: knobs.k.values[2]: repeats knobs.k.values[0]"}},
		{rule: "there is a label for each value", text: "{type: enum, values: [a, b], labels: [A], " + heat + "}", warnings: []string{
			"10:43: knobs.k.labels: must have one label for each of the 2 values, has 1: the labels are ignored"}},
		{rule: "labels may be a mapping", text: "{type: enum, values: [a, 2], labels: {a: A, 2: Two}, " + heat + "}"},
		{rule: "a label for a value that does not exist is a warning", text: "{type: enum, values: [a], labels: {b: B}, " + heat + "}", warnings: []string{
			"10:41: knobs.k.labels.b: is not one of the values"}},
		{rule: "labels are texts", text: "{type: enum, values: [a], labels: {a: 1}, " + heat + "}", problems: []string{
			`10:44: knobs.k.labels.a: must be a string, got a number; put it into quotes: "…"`}},
		{rule: "the default of an enum is one of its values", text: "{type: enum, values: [a, '1'], default: 1, " + heat + "}", problems: []string{
			"10:46: knobs.k.default: must be one of \"a\", \"1\""}},
		{rule: "the default of a boolean is a boolean", text: "{type: boolean, default: 'true', " + heat + "}", problems: []string{
			"10:31: knobs.k.default: must be true or false, got a string"}},
		{rule: "the default of a text is a string", text: "{type: text, default: 5, " + heat + "}", problems: []string{
			"10:28: knobs.k.default: must be a string, got a number"}},
		{rule: "max_length is positive", text: "{type: multiline, max_length: 0, " + heat + "}", problems: []string{
			"10:36: knobs.k.max_length: must be greater than 0, got 0"}},
		{rule: "a path may have prefixes", text: "{type: path, prefixes: ['config:', 'project:'], default: 'config:/memory', " + heat + "}"},
		{rule: "the default of a path begins with one of them", text: "{type: path, prefixes: ['config:', 'project:'], default: /memory, " + heat + "}", problems: []string{
			`10:63: knobs.k.default: must begin with config: or project:`}},
		{rule: "prefixes are strings", text: "{type: path, prefixes: 7, " + heat + "}", problems: []string{
			`10:29: knobs.k.prefixes: must be a list of strings, got a number; put it into brackets: […]`}},
		{rule: "the default of a text keeps to max_length", text: "{type: text, max_length: 2, default: éßü, " + heat + "}", problems: []string{
			"10:43: knobs.k.default: must have at most 2 characters"}},
		{rule: "the default of a model_alias is a string", text: "{type: model_alias, default: [], " + heat + "}", problems: []string{
			"10:35: knobs.k.default: must be a string, got a list"}},
		{rule: "the default of a path is a string", text: "{type: path, default: true, " + heat + "}", problems: []string{
			"10:28: knobs.k.default: must be a string, got true or false"}},
		{rule: "a key of another type is a warning", text: "{type: boolean, min: 1, " + heat + "}", warnings: []string{
			"10:27: knobs.k.min: has no effect on a knob of type boolean"}},
		{rule: "an unknown key is a warning", text: "{type: text, maxlength: 1, " + heat + "}", warnings: []string{
			`10:19: knobs.k.maxlength: unknown key, ignored; did you mean "max_length"?`}},
	}
	for i := range cases {
		cases[i].text = knobbed(cases[i].text)
	}
	runManifestCases(t, append(cases,
		manifestCase{rule: "knobs is a mapping", text: "knobs: []", problems: []string{
			"7:8: knobs: must be a mapping of names to knobs, got a list; put a key before each value: { KEY: … }"}},
		manifestCase{rule: "a knob needs a config_schema", text: "knobs: {k: {type: text, label: L, binds_to: config.a}}", problems: []string{
			`7:45: knobs.k.binds_to: the manifest has no config_schema, so there is no field "a"`}},
		manifestCase{rule: "an invalid config_schema is reported once",
			text: "config_schema: 5\nknobs: {k: {type: text, label: L, binds_to: config.a}}", problems: []string{
				"7:16: config_schema: must be a mapping: a JSON Schema, got a number; put a key before each value: { KEY: … }"}},
	))
}

func TestKnobsKeepTheirOrderAndValues(t *testing.T) {
	m, problems := kaged.ParseManifest("", readFile(t, "full.yaml"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	num := func(n float64) *float64 { return &n }
	length := func(n int) *int { return &n }
	want := []dialect.Knob{
		{Key: "temperature", Type: "range", Label: "Temperature", Path: []string{"temperature"}, Min: num(0), Max: num(1), Step: num(0.1), Default: raw("0.3")},
		{Key: "limit", Type: "int_range", Label: "Notes at once", Path: []string{"limit"}, Min: num(1), Max: num(50), Step: num(1), Default: raw("10")},
		{Key: "style", Type: "enum", Label: "Style", Description: "How notes are written.", Path: []string{"style"},
			Values: []json.RawMessage{raw(`"short"`), raw(`"long"`)}, Labels: []string{"In a line", "In full"}, Default: raw(`"short"`)},
		{Key: "archive", Type: "boolean", Label: "Keep old notes", Path: []string{"archive"}, Default: raw("true")},
		{Key: "title", Type: "text", Label: "Title", Path: []string{"title"}, MaxLength: length(80), Default: raw(`"Notes"`)},
		{Key: "preamble", Type: "multiline", Label: "Preamble", Path: []string{"preamble"}, MaxLength: length(4000)},
		{Key: "model", Type: "model_alias", Label: "Model", Path: []string{"model"}, Default: raw(`"fast"`)},
		{Key: "folder", Type: "path", Label: "Folder", Path: []string{"folder"}, Default: raw(`"/srv/notes"`)},
	}
	for i := range want {
		want[i].BindsTo = "config." + want[i].Path[0]
	}
	if !reflect.DeepEqual(m.Knobs, want) {
		t.Errorf("got  %+v\nwant %+v", m.Knobs, want)
	}
}

// TestAKnobThatCannotSetItsField: a knob whose type does not fit its field is a warning.
func TestAKnobThatCannotSetItsField(t *testing.T) {
	m, problems := kaged.ParseManifest("", []byte(edited(0, `config_schema:
  properties:
    level: {type: integer}
knobs:
  level: {type: text, label: L, binds_to: config.level}
  other: {type: range, label: O, binds_to: config.level}
`)))
	if len(problems) > 0 || len(m.Warnings) != 1 || !strings.Contains(m.Warnings[0].Message, "a knob of type text cannot set a field of type integer") {
		t.Errorf("%v, warnings %v", problems, m.Warnings)
	}
}

// TestAKnobTakesItsLimitsFromTheField: a knob without min, max, values or max_length has those of
// its schema field, and so has one whose own limits are wider.
func TestAKnobTakesItsLimitsFromTheField(t *testing.T) {
	m, problems := kaged.ParseManifest("", []byte(edited(0, `config_schema:
  properties:
    level: {type: integer, minimum: 1, maximum: 5}
    mode: {enum: [fast, slow]}
    note: {type: string, maxLength: 7}
knobs:
  level: {type: int_range, label: L, binds_to: config.level, max: 3}
  mode: {type: enum, label: M, binds_to: config.mode, labels: {slow: Slowly}}
  note: {type: text, label: N, binds_to: config.note}
  wide: {type: int_range, label: W, binds_to: config.level, min: 0, max: 20}
`)))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	level, mode, note := m.Knobs[0], m.Knobs[1], m.Knobs[2]
	if level.Min == nil || *level.Min != 1 || level.Max == nil || *level.Max != 3 {
		t.Errorf("level from %v to %v", level.Min, level.Max)
	}
	if wide := m.Knobs[3]; *wide.Min != 1 || *wide.Max != 5 {
		t.Errorf("wide from %v to %v", *wide.Min, *wide.Max)
	}
	if len(mode.Values) != 2 || string(mode.Values[1]) != `"slow"` || !slices.Equal(mode.Labels, []string{"fast", "Slowly"}) {
		t.Errorf("mode %s %q", mode.Values, mode.Labels)
	}
	if note.MaxLength == nil || *note.MaxLength != 7 {
		t.Errorf("note %v", note.MaxLength)
	}
}
