package plugtest

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// sample is our own Markdown with every form that the documents have.
const sample = "# Title\n" +
	"\n" +
	"```\nplain\n```\n" +
	"## Part `one`\n" +
	"1. An item:\n" +
	"   ```json\n" +
	"   {\n" +
	"     \"a\": 1\n" +
	"   }\n" +
	"   ```\n" +
	"Request: `{\"b\":2}` or `{\"c\":3}`\n" +
	"```bash\n# not a heading\nRequest: `no`\n````no fence\n```\n" +
	"| Name | Needed |\n|---|---|\n| `x` | yes |\n| y | no |\n\n" +
	"```json\n{}\n```"

func TestBlocks(t *testing.T) {
	d := newDocument(t, "sample", sample)
	want := []Block{
		{Text: "plain\n", Line: 4, Heading: "Title"},
		{Lang: "json", Text: "{\n  \"a\": 1\n}\n", Line: 9, Heading: "Part `one`"},
		{Lang: "bash", Text: "# not a heading\nRequest: `no`\n````no fence\n", Line: 15, Heading: "Part `one`"},
		{Lang: "json", Text: "{}\n", Line: 25, Heading: "Part `one`"},
	}
	if got := d.Blocks(); !reflect.DeepEqual(got, want) {
		t.Errorf("all:\n%+v\n%+v", got, want)
	}
	if got := d.Blocks("json"); !reflect.DeepEqual(got, []Block{want[1], want[3]}) {
		t.Errorf("json: %+v", got)
	}
	if got := d.Blocks("", "bash"); !reflect.DeepEqual(got, []Block{want[0], want[2]}) {
		t.Errorf("two languages: %+v", got)
	}
}

func TestInline(t *testing.T) {
	want := []Block{
		{Text: `{"b":2}`, Line: 13, Heading: "Part `one`"},
		{Text: `{"c":3}`, Line: 13, Heading: "Part `one`"},
	}
	if got := newDocument(t, "sample", sample).Inline("Request:"); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestRows(t *testing.T) {
	for _, c := range []struct {
		rule, text string
		want       []Row
	}{
		{"markdown", sample, []Row{{"x", "yes"}, {"y", "no"}}},
		{
			"without lines between the cells", "Part `one`\n\nWords.\n\nField Type\na string yes\n[min: 1]\nb:[] object\n\nOther",
			[]Row{{"a", "string yes\n[min: 1]"}, {"b:[]", "object"}},
		},
		{"to the end", "Part `one`\nField Type\na b", []Row{{"a", "b"}}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := newDocument(t, "sample", c.text).Rows("Part `one`"); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestObjectsAndSpan(t *testing.T) {
	d := newDocument(t, "sample", "Sent:\n\n{\n\"a\": {\n\"b\": 1\n}\n}\n\nThen {no} and\n{ brace\n{\"c\": 2}\nbegin\nx\nend\nend\n")
	want := []Block{
		{Lang: "json", Text: "{\n\"a\": {\n\"b\": 1\n}\n}\n", Line: 3, Heading: "Sent:"},
		{Lang: "json", Text: "{\"c\": 2}\n", Line: 11, Heading: "Then {no} and"},
	}
	if got := d.Objects(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := d.Span("begin", "end"); got != (Block{Text: "begin\nx\nend\n", Line: 12}) {
		t.Errorf("%+v", got)
	}
	if got := d.Span("begin", ""); got != (Block{Text: "begin\nx\nend\nend\n", Line: 12}) {
		t.Errorf("%+v", got)
	}
}

func TestFindingNothingEndsTheTest(t *testing.T) {
	for name, look := range map[string]func(*Document){
		"Blocks":         func(d *Document) { d.Blocks("cobol") },
		"Inline":         func(d *Document) { d.Inline("Cobol:") },
		"Rows":           func(d *Document) { d.Rows("Cobol") },
		"rows in it":     func(d *Document) { d.Rows("Bare") },
		"Objects":        func(d *Document) { d.Objects() },
		"Span":           func(d *Document) { d.Span("Cobol", "end") },
		"Span's end":     func(d *Document) { d.Span("# Bare", "Cobol") },
		"Span backwards": func(d *Document) { d.Span("Last.", "# Bare") },
	} {
		t.Run(name, func(t *testing.T) {
			got := watch(t, func(tb testing.TB) { look(newDocument(tb, "sample", "# Bare\nLast.")) })
			if !strings.HasPrefix(got, "fatal: sample: no ") {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestSeedFindsTheDocument(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "003_ab.txt"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ rule, seeds, ci, number, want string }{
		{"no variable: skipped", "", "", "003", "skip: PATCHBAY_SEEDS is not set"},
		{"no variable, CI false: skipped", "", "false", "003", "skip: PATCHBAY_SEEDS is not set"},
		{"no variable, CI true: fails", "", "true", "003", "fatal: PATCHBAY_SEEDS is not set"},
		{"relative folder: fails", "seeds", "", "003", "fatal: PATCHBAY_SEEDS: \"seeds\" must be absolute"},
		{"no such document: fails", dir, "", "004", "fatal: PATCHBAY_SEEDS: want one file 004_*.txt"},
		{"found", dir, "true", "003", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Setenv("PATCHBAY_SEEDS", c.seeds)
			t.Setenv("CI", c.ci)
			got := watch(t, func(tb testing.TB) {
				if d := Seed(tb, c.number); d.Text != "text" {
					t.Errorf("got %q", d.Text)
				}
			})
			if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestDocumentsHaveTranscripts: a test that is skipped without a document names other tests, and
// they exist.
func TestDocumentsHaveTranscripts(t *testing.T) {
	t.Setenv("PATCHBAY_SEEDS", "")
	t.Setenv("CI", "")
	for number, name := range dialects {
		got := watch(t, func(tb testing.TB) { Seed(tb, number) })
		_, rest, _ := strings.Cut(got, "with internal/")
		folder, _, _ := strings.Cut(rest, ",")
		paths, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(folder), "*.txtar"))
		if err != nil || len(paths) == 0 || !strings.Contains(folder, name) {
			t.Errorf("%s: %q names %q, where %d transcripts are (%v)", number, got, folder, len(paths), err)
		}
	}
}

// TestSeeds compares what the reader returns with the documents themselves.
func TestSeeds(t *testing.T) {
	t.Run("000 fenced blocks", func(t *testing.T) {
		d := Seed(t, "000")
		if n := len(d.Blocks()); n != 5 {
			t.Errorf("%d blocks", n)
		}
		if got := d.Blocks("jsonc")[2]; got.Heading != "`invoke`" || !strings.Contains(got.Text, `"kind": "sink"`) {
			t.Errorf("%+v", got)
		}
	})
	t.Run("001 objects and programs", func(t *testing.T) {
		d := Seed(t, "001")
		if n := len(d.Objects()); n != 5 {
			t.Errorf("%d objects", n)
		}
		python := d.Span("#!/usr/bin/env python3", "main()")
		if !strings.Contains(python.Text, "auto-tagged") || strings.Contains(python.Text, "package main") {
			t.Errorf("%s", python.Text)
		}
		program := d.Span("package main", "")
		if _, err := parser.ParseFile(token.NewFileSet(), "main.go", program.Text, 0); err != nil {
			t.Errorf("%v in\n%s", err, program.Text)
		}
	})
	t.Run("002 rows", func(t *testing.T) {
		d := Seed(t, "002")
		fields := d.Rows("Plugin Manifest")
		names := rowNames(fields)
		if len(fields) != 21 || names[0] != "name" || names[20] != "hook_timeout_sec" || !slices.Contains(names, "system_config_schema") {
			t.Errorf("%d fields: %q", len(fields), names)
		}
		if !strings.Contains(fields[0].Text, "\n[min length: 1, max length: 64") {
			t.Errorf("%q", fields[0].Text)
		}
		if got := rowNames(d.Rows("Capabilities")); len(got) != 9 || got[6] != "net:[]" {
			t.Errorf("%q", got)
		}
		want := []string{"initialize", "initialized", "shutdown", "health.check"}
		if got := rowNames(d.Rows("JSON-RPC Protocol")); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	})
	t.Run("003 every JSON is JSON", func(t *testing.T) {
		d := Seed(t, "003")
		if n := len(d.Blocks()); n != 16 {
			t.Errorf("%d blocks", n)
		}
		all := slices.Concat(d.Blocks("json"), d.Inline("Request params:"), d.Inline("Response fields:"))
		if len(all) != 9+6+7 {
			t.Errorf("%d", len(all))
		}
		for _, b := range all {
			if !json.Valid([]byte(b.Text)) {
				t.Errorf("line %d, %s: %s", b.Line, b.Heading, b.Text)
			}
		}
		if got := rowNames(d.Rows("Initialize handshake")); len(got) != 6 || got[5] != "priority" {
			t.Errorf("%q", got)
		}
	})
	t.Run("004 indented fences", func(t *testing.T) {
		d := Seed(t, "004")
		if n := len(d.Blocks()); n != 32 {
			t.Errorf("%d blocks", n)
		}
		if first := d.Blocks("bash")[1]; !strings.HasPrefix(first.Text, "mkdir -p ~/.agent/plugins\ncat >") {
			t.Errorf("%s", first.Text)
		}
	})
}

func rowNames(rows []Row) []string {
	names := make([]string, len(rows))
	for i, row := range rows {
		names[i] = row.Name
	}
	return names
}

// watch runs f with its own test and returns how that ended: "", "skip: …" or "fatal: …".
func watch(t *testing.T, f func(testing.TB)) (end string) {
	t.Helper()
	defer func() {
		if stop, ok := recover().(stopped); ok {
			end = string(stop)
		}
	}()
	f(&watched{TB: t})
	return ""
}

// watched is a test that ends with a panic, which watch can see.
type watched struct{ testing.TB }

type stopped string

func (w *watched) Fatal(args ...any) { panic(stopped("fatal: " + fmt.Sprint(args...))) }
func (w *watched) Fatalf(format string, args ...any) {
	panic(stopped("fatal: " + fmt.Sprintf(format, args...)))
}
func (w *watched) Skipf(format string, args ...any) {
	panic(stopped("skip: " + fmt.Sprintf(format, args...)))
}
