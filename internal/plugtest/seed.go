package plugtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/machine"
)

// A Document is one protocol document. It is read in place and never copied: the tests send and
// expect what it prints. Its methods end the test if they find nothing, so that no test passes
// because it found nothing to compare.
type Document struct {
	Path string
	Text string

	t     testing.TB
	lines []string
}

// A Block is a part of a document outside its prose.
type Block struct {
	Lang    string // as the fence names it; empty without a name or a fence
	Text    string // without the fence and its indentation, ending with a newline
	Line    int    // of its first line, from 1
	Heading string // the heading above it; in a document without headings, the line of prose above it
}

// A Row is one row of a table: the first cell, and the rest of the text.
type Row struct {
	Name string
	Text string
}

// Seed returns the protocol document with that number ("003"), from the folder that $PATCHBAY_SEEDS
// names. Without the variable the test is skipped and says which transcripts replace it. If CI is
// true it fails, so that a missing document is noticed.
func Seed(t testing.TB, number string) *Document {
	t.Helper()
	dir := os.Getenv("PATCHBAY_SEEDS")
	if dir == "" {
		if machine.CI() {
			t.Fatal("PATCHBAY_SEEDS is not set: it must name the folder of the protocol documents")
		}
		t.Skipf("PATCHBAY_SEEDS is not set; with the folder of the protocol documents this test runs. These tests replace it: %s", standIn(number))
	}
	if !filepath.IsAbs(dir) {
		t.Fatalf("PATCHBAY_SEEDS: %q must be absolute, since each package is tested in its own folder", dir)
	}
	paths, err := filepath.Glob(filepath.Join(dir, number+"_*.txt"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("PATCHBAY_SEEDS: want one file %s_*.txt in %s, found %d (%v)", number, dir, len(paths), err)
	}
	text, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	return newDocument(t, paths[0], string(text))
}

// dialects lists the dialect of each document by number.
var dialects = map[string]string{"000": "dotagent", "001": "mine", "002": "kaged", "003": "scaffold", "004": "python"}

// standIn says which tests replace those of a document in a clone without it.
func standIn(number string) string {
	text := "TestTranscripts, with internal/dialect/" + dialects[number] + "/testdata/transcripts"
	if dialects[number] == "python" {
		text += ", and over HTTP TestPluginsOfASession in cmd/patchbay"
	}
	return text
}

func newDocument(t testing.TB, path, text string) *Document {
	return &Document{Path: path, Text: text, t: t, lines: strings.Split(text, "\n")}
}

// Blocks returns the fenced code blocks in those languages, in order; all of them if none is named.
func (d *Document) Blocks(langs ...string) []Block {
	d.t.Helper()
	var blocks []Block
	d.walk(func(b Block) {
		if len(langs) == 0 || slices.Contains(langs, b.Lang) {
			blocks = append(blocks, b)
		}
	}, nil)
	return found(d, blocks, "code block in one of %q", langs)
}

// Inline returns the code spans on the lines that start with prefix, such as `Request params:`.
func (d *Document) Inline(prefix string) []Block {
	d.t.Helper()
	var spans []Block
	d.walk(nil, func(line string, at Block) {
		rest, ok := strings.CutPrefix(line, prefix)
		if !ok {
			return
		}
		for i, part := range strings.Split(rest, "`") {
			if i%2 == 1 { // between two backticks
				spans = append(spans, Block{Text: part, Line: at.Line, Heading: at.Heading})
			}
		}
	})
	return found(d, spans, "line that starts with %q and has a code span", prefix)
}

// walk reads a Markdown document once. It calls block with each fenced block, and prose with each
// line outside of one, with its number and heading. Either may be nil.
func (d *Document) walk(block func(Block), prose func(line string, at Block)) {
	var heading, fence, indent string
	var open Block
	for i, line := range d.lines {
		trimmed := strings.TrimLeft(line, " \t")
		ticks := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
		switch {
		case fence != "" && ticks == trimmed && len(ticks) >= len(fence):
			fence = ""
			if block != nil {
				block(open)
			}
		case fence != "":
			open.Text += strings.TrimPrefix(line, indent) + "\n"
		case len(ticks) >= 3:
			fence, indent = ticks, line[:len(line)-len(trimmed)]
			open = Block{Lang: strings.TrimSpace(trimmed[len(ticks):]), Line: i + 2, Heading: heading}
		default:
			if title := strings.TrimLeft(line, "#"); title != line && strings.HasPrefix(title, " ") {
				heading = strings.TrimSpace(title)
			}
			if prose != nil {
				prose(line, Block{Line: i + 1, Heading: heading})
			}
		}
	}
}

// Objects returns the JSON objects of a document without fences: each starts with a brace on its
// own line.
func (d *Document) Objects() []Block {
	d.t.Helper()
	var objects []Block
	var prose string
	for i := 0; i < len(d.lines); i++ {
		line := d.lines[i]
		if !strings.HasPrefix(line, "{") {
			if line != "" {
				prose = line
			}
			continue
		}
		text := strings.Join(d.lines[i:], "\n")
		decoder := json.NewDecoder(strings.NewReader(text))
		var raw json.RawMessage
		if decoder.Decode(&raw) != nil {
			continue // not the brace of an object
		}
		text = text[:decoder.InputOffset()]
		objects = append(objects, Block{Lang: "json", Text: text + "\n", Line: i + 1, Heading: prose})
		i += strings.Count(text, "\n")
	}
	return found(d, objects, "JSON object on lines of its own")
}

// Span returns the text from the line first to the next line last, both included: a program in a
// document without fences. If last is empty, it returns everything to the end of the document.
func (d *Document) Span(first, last string) Block {
	d.t.Helper()
	start := slices.Index(d.lines, first)
	if start < 0 {
		d.t.Fatalf("%s: no line %q", d.Path, first)
	}
	lines := d.lines[start:]
	if last != "" {
		end := slices.Index(lines, last)
		if end < 0 {
			d.t.Fatalf("%s: no line %q after line %d", d.Path, last, start+1)
		}
		lines = lines[:end+1]
	}
	return Block{Text: strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n", Line: start + 1}
}

// Rows returns the rows of the first table in the section of that name. It reads Markdown tables,
// and tables that lost the lines between their cells: a line `Field Type …`, then one line for each
// row; a line that starts with a bracket belongs to the row before.
func (d *Document) Rows(section string) []Row {
	d.t.Helper()
	start := slices.IndexFunc(d.lines, func(line string) bool {
		return strings.TrimSpace(strings.TrimLeft(line, "#")) == section
	})
	if start < 0 {
		d.t.Fatalf("%s: no section %q", d.Path, section)
	}
	var rows []Row
	for _, line := range tableBody(d.lines[start+1:]) {
		if strings.HasPrefix(line, "[") && len(rows) > 0 {
			rows[len(rows)-1].Text += "\n" + line
			continue
		}
		rows = append(rows, parseRow(line))
	}
	return found(d, rows, "table in section %q", section)
}

// tableBody returns the lines of the first table, without its head.
func tableBody(lines []string) []string {
	start := slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "|") || strings.HasPrefix(line, "Field ")
	})
	if start < 0 {
		return nil
	}
	head := 1
	if strings.HasPrefix(lines[start], "|") {
		head = 2 // the names, and the rule below them
	}
	body := lines[min(start+head, len(lines)):]
	if end := slices.Index(body, ""); end >= 0 {
		body = body[:end]
	}
	return body
}

func parseRow(line string) Row {
	if cells, ok := strings.CutPrefix(line, "|"); ok {
		name, rest, _ := strings.Cut(cells, "|")
		return Row{Name: strings.Trim(name, " `"), Text: strings.Trim(rest, " |")}
	}
	name, rest, _ := strings.Cut(line, " ")
	return Row{Name: name, Text: rest}
}

// found ends the test if there is nothing.
func found[T any](d *Document, all []T, what string, args ...any) []T {
	d.t.Helper()
	if len(all) == 0 {
		d.t.Fatalf("%s: no "+what, append([]any{d.Path}, args...)...)
	}
	return all
}
