package kaged_test

import (
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/dialect/kaged"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
	"github.com/patchbay-dev/patchbay/internal/schema"
)

func TestYAMLThatIsNotAManifest(t *testing.T) {
	for _, tc := range []struct{ rule, yaml, want string }{
		{"empty", "", "1:1: the manifest is empty"},
		{"nothing but comments", "# nothing\n", "1:1: the manifest is empty"},
		{"nothing but a marker", "---\n", "1:1: the manifest is empty"},
		{"a list", "- name: tiny\n", "1:1: the manifest must be a mapping of fields, got a list"},
		{"a word", "tiny", "1:1: the manifest must be a mapping of fields, got a string"},
		{"not UTF-8", "name: tiny\nversion: \xff\n", "2:10: the manifest is not UTF-8"},
		{"a control character", "name: tiny\nversion: \x00\n", "2:10: the manifest has a control character"},
		{"a list without its end", "name: [tiny\n", "1:7: not valid YAML: sequence end token ']' not found; check quotes, brackets and indentation there"},
		{"a quote without its end", "name: \"tiny\n", "1:7: not valid YAML: could not find end character of double-quoted text; check quotes, brackets and indentation there"},
		{"a tab for an indent", "env:\n\tA: b\n", `2:1: not valid YAML: found character '\t' that cannot start any token; write spaces in place of the tab`},
		{"two values", "name: a: b\n", `1:7: not valid YAML: mapping value is not allowed in this context; begin the keys of a mapping in the same column, and quote a text with ": " in it`},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			_, problems := kaged.ParseManifest("", []byte(tc.yaml))
			same(t, "problems", problems, []string{tc.want})
		})
	}
}

func TestYAMLThatAManifestMayNotHave(t *testing.T) {
	runManifestCases(t, []manifestCase{
		{rule: "aliases and anchors, each reported", text: "a: &x [1]\nb: *x", problems: []string{
			`7:4: anchors are not allowed in a manifest; quote a text that begins with "&"`,
			`8:4: aliases are not allowed in a manifest; quote a text that begins with "*"`}},
		{rule: "merge keys", text: "env:\n  <<: {A: b}", problems: []string{
			"8:3: merge keys are not allowed in a manifest"}},
		{rule: "tags", text: "author: !!str 5", problems: []string{
			`7:9: tags are not allowed in a manifest; quote a text that begins with "!"`}},
		{rule: "directives", line: 1, text: "%YAML 1.2\n---\nname: tiny", problems: []string{
			"1:1: YAML directives are not allowed in a manifest",
			"2:1: a manifest is one document, this begins a second"}},
		{rule: "a second document", text: "---\nname: other", problems: []string{
			"7:1: a manifest is one document, this begins a second"}},
		{rule: "a second document after the end of the first", text: "...\nname: other", problems: []string{
			"8:1: a manifest is one document, this is a second"}},
		{rule: "a key that is there twice, each reported", text: "name: other\nenv:\n  A: b\n  A: c", problems: []string{
			"7:1: name: the key occurs twice, first in line 1",
			"10:3: env.A: the key occurs twice, first in line 9"}},
		{rule: "a key that is null", text: "env: {~: a}", problems: []string{
			"7:7: env: a key must be a word or a quoted text"}},
		{rule: "an empty list entry that swallows the next key", line: 5, text: "command:\n-\nauthor: me", problems: []string{
			"6:1: a list entry without a value"}},
		{rule: "a number of thousands of digits", text: "a: 0x" + strings.Repeat("f", 10_000), problems: []string{
			"7:4: a: the number has too many digits"},
			warnings: []string{"7:1: a: unknown key, ignored"}},
	})
}

func TestYAMLThatAManifestMayHave(t *testing.T) {
	for rule, yaml := range map[string]string{
		"a byte order mark":        "\ufeff" + minimal,
		"a marker and an end":      "---\n" + minimal + "...\n",
		"comments":                 "# one\n" + strings.ReplaceAll(minimal, "\n", " # two\n") + "# three",
		"lines that end in CR LF":  strings.ReplaceAll(minimal, "\n", "\r\n"),
		"no newline at the end":    strings.TrimSpace(minimal),
		"quoted keys":              strings.Replace(minimal, "name:", `"name":`, 1),
		"explicit keys":            strings.Replace(minimal, "name: tiny", "? name\n: tiny", 1),
		"a block for a key":        strings.Replace(minimal, "name: tiny", "? |-\n  name\n: tiny", 1),
		"a list in its key's line": strings.Replace(minimal, "[tiny.run]", "\n- tiny.run", 1),
		"JSON": `{"name":"tiny","version":"0.1.0","kaged_api":1,"description":"Does one thing.",` +
			`"command":["./tiny"],"methods":["tiny.run"]}`,
	} {
		t.Run(rule, func(t *testing.T) {
			m, problems := kaged.ParseManifest("", []byte(yaml))
			if len(problems)+len(m.Warnings) > 0 || m.Name != "tiny" || len(m.Methods) != 1 || m.Methods[0] != "tiny.run" {
				t.Errorf("got %+v; problems %v", m, problems)
			}
		})
	}
}

func TestPositionsCountTabsAndWideCharacters(t *testing.T) {
	for _, tc := range []struct{ rule, yaml, want string }{
		{"after wide characters", "{é: 日本, name: 5}", "1:15: name: must be a string, got a number; put it into quotes: \"…\""},
		{"after tabs", "{\n\t\"name\": 5,\n\t\t\t\"license\":\t7}", "2:10: name: must be a string, got a number; put it into quotes: \"…\""},
		{"after more tabs", "{\n\t\"name\": \"x\",\n\t\t\t\"license\":\t7}", "3:15: license: must be a string, got a number; put it into quotes: \"…\""},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			_, problems := kaged.ParseManifest("", []byte(tc.yaml))
			for _, p := range problems {
				if p.String() == tc.want {
					return
				}
			}
			t.Errorf("%v\nlack %s", problems, tc.want)
		})
	}
}

// TestYAMLToJSON: plain scalars are read as in YAML 1.2, and numbers keep their digits.
func TestYAMLToJSON(t *testing.T) {
	for _, tc := range []struct{ yaml, want string }{
		{"[1, -1, +1, 007, -0, 0]", "[1,-1,1,7,0,0]"},
		{"[0x1F, 0o17, 0xFFFFFFFFFFFFFFFFFF]", "[31,15,4722366482869645213695]"},
		{"[1.50, .5, 5., -0.0, 1e3, 1.5E-7, +.5e+2]", "[1.50,0.5,5,-0.0,1e3,1.5e-7,0.5e+2]"},
		{"[123456789012345678901234567890, 0.1000000000000000055511151231257827]",
			"[123456789012345678901234567890,0.1000000000000000055511151231257827]"},
		{"[true, False, TRUE, null, ~, Null]", "[true,false,true,null,null,null]"},
		{"[yes, no, on, off, y, 1_000, 0b1, 1.2.3, 0x, 1e, ., -]", `["yes","no","on","off","y","1_000","0b1","1.2.3","0x","1e",".","-"]`},
		{`["1", 'true', "\u00e9\t\"<>&"]`, `["1","true","é\t\"<>&"]`},
		{"{b: 1, a: {d: 2, c: 3}}", `{"b":1,"a":{"d":2,"c":3}}`},
		{"{1: a, true: b, 1.5: c}", `{"1":"a","true":"b","1.5":"c"}`},
		{"[{}, [], '']", `[{},[],""]`},
	} {
		m, problems := kaged.ParseManifest("", []byte(minimal+"config_schema: {x: "+tc.yaml+"}\n"))
		if len(problems) > 0 {
			t.Errorf("%s: %v", tc.yaml, problems)
			continue
		}
		if got, want := string(m.ConfigSchema.JSON()), `{"x":`+tc.want+`}`; got != want {
			t.Errorf("%s\n got %s\nwant %s", tc.yaml, got, want)
		}
	}
}

// TestHostileManifestsAreRefusedQuickly: files that would keep the YAML library busy for seconds to
// hours, or fill the memory, are refused first. Without that the test would run into its time
// limit.
func TestHostileManifestsAreRefusedQuickly(t *testing.T) {
	const mib = 1 << 20
	repeat := func(s string) string { return strings.Repeat(s, mib/len(s)) }
	for _, tc := range []struct{ rule, yaml, want string }{
		{"too large", repeat("a") + "b", "1:1: the manifest has more than 1048576 bytes"},
		{"blank lines", "a: |\n  " + strings.Repeat("\n", 500_000), "27:1: the manifest has too many blank lines in a row"},
		{"tabs in quotes", "a: \"" + strings.Repeat("\tx", 500_000), "1:45: the manifest has too many tabs in long lines"},
		{"angles", "a: " + strings.Repeat("<", 500_000), `1:104: the manifest has too many "<" in a row`},
		{"open brackets", strings.Repeat("[", 500_000), "1:100001: the manifest has too much punctuation"},
		{"many keys", strings.Repeat("a:\n", 30_000), "10001:1: the manifest is too long: more than 20000 words and signs"},
		{"deep brackets", "a: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
			"1:259: nested too deep: more than 64 levels"},
		{"deep dashes", strings.Repeat("- ", 9000), "1:513: nested too deep: more than 64 levels"},
		{"long keys above many values", strings.Repeat("k", 500_000) + ":\n" + strings.Repeat("  a: b\n", 6000),
			"1:1: a key of more than 200 characters"},
		{"empty entries that nest", strings.Repeat("a:\n-\n", 5000), "2:1: a list entry without a value"},
		{"balanced brackets that nest too deep", "a: " + strings.Repeat("[", 64) + strings.Repeat("]", 64), "1:67: " +
			"a" + strings.Repeat("[0]", 63) + ": nested too deep: more than 64 levels"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			_, problems := kaged.ParseManifest("", []byte(tc.yaml))
			for _, p := range problems {
				if p.String() == tc.want {
					return
				}
			}
			t.Errorf("%.300s\nlack %s", problems, tc.want)
		})
	}
}

func FuzzParseManifest(tf *testing.F) {
	f := variants.Of(tf)
	for _, name := range []string{"full.yaml", "many_problems.yaml"} {
		f.Add(readFile(f, name))
	}
	for _, s := range []string{
		minimal, "", "a: &a [*a]", "? [a]\n: b", "a:\n-\nb:", "{a: {b: [", "a: |+2\n   b\n", "--- !!map\n...\n---",
		"config_schema: {$id: 'x', $defs: {a: {$id: x}}, $ref: '#/$defs/a/b', pattern: '(a{9}){9}'}",
		"config_schema: {$schema: 'http://json-schema.org/draft-04/schema', id: '#a', definitions: {b: {id: '#a'}}}",
		"knobs: {a: {type: enum, values: [1, x], labels: [a], default: 2}}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, problems := kaged.ParseManifest("", data)
		if m == nil {
			t.Fatal("no manifest")
		}
		for _, p := range problems {
			if p.Line < 1 || p.Column < 1 || p.Message == "" {
				t.Fatalf("a problem without a place or a message: %#v", p)
			}
		}
		if len(problems) > 0 {
			return
		}
		if m.Name == "" || len(m.Command) == 0 || m.ShutdownTimeout == 0 {
			t.Fatalf("a manifest without problems lacks what is required: %+v", m)
		}
		for _, s := range []*schema.Schema{m.ConfigSchema, m.SystemConfigSchema} {
			s.Check([]byte(`{"a":[1,{"b":"c"}],"d":1.5,"e":null}`))
		}
	})
}
