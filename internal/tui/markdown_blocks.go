package tui

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"github.com/patchbay-dev/patchbay/internal/render"
)

// A drawing turns markdown into lines. Lists and quotes nest: each adds to the beginning of the
// lines of its blocks.
type drawing struct {
	look   look
	source []byte // that was parsed
	width  int    // of the lines, at most
	lines  []string

	first string  // the beginning of the next line: marks that were not shown yet
	rest  string  // the beginning of the lines after it, as wide as first
	gap   *string // an empty line before the next one, with its beginning
}

// minText is the narrowest text that indenting leaves. Deeper blocks are not indented any more.
const minText = 6

// room returns how wide the text of a line may be.
func (d *drawing) room() int { return d.width - ansi.StringWidth(d.rest) }

// line adds a line. If a character at its start combines with the text before it, the line may
// become too wide: then it is cut.
func (d *drawing) line(text string) {
	if d.gap != nil {
		d.lines = append(d.lines, strings.TrimRight(*d.gap, " "))
		d.gap = nil
	}
	d.lines = append(d.lines, render.Cut(strings.TrimRight(d.first+text, " "), d.width))
	d.first = d.rest
}

// apart adds an empty line before the next line, unless it is the first.
func (d *drawing) apart() {
	if len(d.lines) > 0 && d.first == d.rest {
		gap := d.rest
		d.gap = &gap
	}
}

// within draws with a mark before the first line and an indent of the same width before the others.
// If there is no room for them, the mark gets its own line.
func (d *drawing) within(mark, indent string, draw func()) {
	if d.room()-ansi.StringWidth(mark) < minText {
		if mark != indent {
			d.line(mark)
		}
		draw()
		return
	}
	rest, before := d.rest, len(d.lines)
	d.first, d.rest = d.first+mark, d.rest+indent
	draw()
	if len(d.lines) == before { // an empty item also has a line
		d.line("")
	}
	d.first, d.rest = rest, rest
}

// blocks draws the content of a document, a quote or an item; in a tight list without empty lines
// between blocks.
func (d *drawing) blocks(parent ast.Node, tight bool) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if !tight && n.PreviousSibling() != nil {
			d.apart()
		}
		d.block(n)
	}
}

func (d *drawing) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		d.heading(n)
	case *ast.Paragraph, *ast.TextBlock:
		d.paragraph(d.inline(n, face{}))
	case *ast.List:
		d.list(n)
	case *ast.Blockquote:
		bar := d.look.dim("│") + " "
		d.within(bar, bar, func() { d.blocks(n, false) })
	case *ast.FencedCodeBlock:
		d.code(d.raw(n.Lines()), string(n.Language(d.source)), codeIndent)
	case *ast.CodeBlock:
		d.code(d.raw(n.Lines()), "", codeIndent)
	case *ast.HTMLBlock:
		d.html(n)
	case *ast.ThematicBreak:
		d.line(d.look.dim(strings.Repeat("─", min(d.room(), ruleWidth))))
	case *extast.Table:
		d.table(n)
	default: // the parser makes no others; their content would still be shown
		d.blocks(n, false)
	}
}

// ruleWidth is wide enough to be seen as a rule.
const ruleWidth = 8

func (d *drawing) paragraph(runs []run) {
	for _, line := range fill(split(runs), d.room()) {
		d.line(d.look.paintRuns(line))
	}
}

// heading shows the level of a heading by its face, or without colours by the mark in the source.
func (d *drawing) heading(n *ast.Heading) {
	f := face{bold: true}
	if n.Level <= 2 {
		f.color = render.StyleBlue
	}
	f.underline = n.Level == 1
	runs := d.inline(n, f)
	if !d.look.color {
		runs = append([]run{{text: strings.Repeat("#", n.Level) + " "}}, runs...)
	}
	d.paragraph(runs)
}

func (d *drawing) list(n *ast.List) {
	number, digits := n.Start, len(strconv.Itoa(n.Start+n.ChildCount()-1))
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "• "
		if n.IsOrdered() {
			mark = fmt.Sprintf("%*d%c ", digits, number, n.Marker)
			number++
		}
		if task := taskOf(item); task != nil {
			mark = strings.TrimPrefix(mark, "• ") + box(task.IsChecked)
		}
		if !n.IsTight && item.PreviousSibling() != nil {
			d.apart()
		}
		indent := strings.Repeat(" ", ansi.StringWidth(mark))
		d.within(mark, indent, func() { d.blocks(item, n.IsTight) })
	}
}

// taskOf returns the box at the start of a task's text; nil if the item is not a task.
func taskOf(item ast.Node) *extast.TaskCheckBox {
	block := item.FirstChild()
	if block == nil {
		return nil
	}
	task, _ := block.FirstChild().(*extast.TaskCheckBox)
	return task
}

func box(checked bool) string {
	if checked {
		return "[x] "
	}
	return "[ ] "
}

// raw returns lines that are not markdown.
func (d *drawing) raw(segments *text.Segments) []string {
	lines := make([]string, segments.Len())
	for i := range lines {
		segment := segments.At(i)
		lines[i] = strings.TrimRight(string(segment.Value(d.source)), "\n")
	}
	return lines
}

// code draws lines of source with their spaces.
func (d *drawing) code(lines []string, language string, indent int) {
	if d.room()-indent < minText {
		indent = 0
	}
	margin, h := strings.Repeat(" ", indent), newHighlighter(language)
	for _, line := range lines {
		runs := []run{{text: line, face: codeFace(language, line)}}
		if h != nil {
			runs = h.line(line)
		}
		filled := fill(split(runs), d.room()-indent)
		for _, l := range filled {
			d.line(margin + d.look.paintRuns(l))
		}
		if len(filled) == 0 {
			d.line("")
		}
	}
}

// codeFace returns the face of a line in an unknown language: one colour, except for the lines of a
// diff.
func codeFace(language, line string) face {
	if language != "diff" {
		return face{color: render.StyleCyan}
	}
	switch {
	case strings.HasPrefix(line, "+"):
		return face{color: render.StyleGreen}
	case strings.HasPrefix(line, "-"):
		return face{color: render.StyleRed}
	}
	return face{dim: true}
}

// html draws HTML as it was written. Leaving it out would hide text, and much of it only looks like
// HTML: a placeholder, a generic type.
func (d *drawing) html(n *ast.HTMLBlock) {
	lines := d.raw(n.Lines())
	if n.HasClosure() {
		lines = append(lines, strings.TrimRight(string(n.ClosureLine.Value(d.source)), "\n"))
	}
	for _, line := range lines {
		d.paragraph([]run{{text: line}})
	}
}
