package tui

import (
	"html"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/patchbay-dev/patchbay/internal/render"
)

// A face says how text looks.
type face struct {
	color                                render.Style
	bold, dim, italic, underline, strike bool
}

// style returns a face as package render takes it: the parameters of one sequence.
func (f face) style() render.Style {
	var params []string
	for _, p := range []struct {
		on    bool
		param render.Style
	}{
		{f.bold, render.StyleBold}, {f.dim, render.StyleDim}, {f.italic, "3"}, {f.underline, "4"},
		{f.strike, "9"}, {f.color != render.StylePlain, f.color},
	} {
		if p.on {
			params = append(params, string(p.param))
		}
	}
	return render.Style(strings.Join(params, ";"))
}

// A run is text in one face. It is safe to be shown, or lineBreak.
type run struct {
	text string
	face face
}

// lineBreak is the text of a run that ends a line. No other text contains it.
const lineBreak = "\n"

func (l look) paintRuns(runs []run) string {
	var b strings.Builder
	for _, r := range runs {
		b.WriteString(l.paint(r.face.style(), r.text))
	}
	return b.String()
}

// An inline collects the text of a block as runs.
type inline struct {
	source []byte
	color  bool // faces show emphasis; without colour, the marks stay
	cell   bool // the block is a cell of a table
	breaks bool // the line ends of the block stay
	face   face // of the text that is added
	runs   []run

	text     strings.Builder // of the current run
	textFace face            // its face
}

// inline returns the text of a block, in a face.
func (d *drawing) inline(block ast.Node, f face) []run {
	_, cell := block.(*extast.TableCell)
	w := inline{source: d.source, color: d.look.color, cell: cell, face: f, breaks: d.endedOnPurpose(block)}
	w.children(block)
	w.end()
	return w.runs
}

// proseWidth is less than the width at which people and editors wrap prose.
const proseWidth = 60

// endedOnPurpose reports whether the line ends of a block are meant: those of a poem, an address, a
// list without marks. Markdown joins them into one paragraph, but models write them as they should
// be seen. Their length distinguishes them from wrapped prose: some line ends although the next
// word would have fitted in a line of proseWidth.
func (d *drawing) endedOnPurpose(block ast.Node) bool {
	if block.Type() != ast.TypeBlock || block.Lines() == nil {
		return false
	}
	lines := d.raw(block.Lines())
	for i := range len(lines) - 1 {
		if endsEarly(lines[i], lines[i+1]) {
			return true
		}
	}
	return false
}

// endsEarly tells whether a line of proseWidth had room for the first word of the next one.
func endsEarly(line, next string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(next), " ")
	return ansi.StringWidth(strings.TrimSpace(line))+1+ansi.StringWidth(first) <= proseWidth
}

// add adds foreign text. Text of the same face becomes one run, because characters at its ends may
// combine.
func (w *inline) add(text string) {
	f := w.face
	if !w.color {
		f = face{}
	}
	if f != w.textFace {
		w.end()
		w.textFace = f
	}
	w.text.WriteString(render.Line(text))
}

// end ends the current run.
func (w *inline) end() {
	if w.text.Len() > 0 {
		w.runs = append(w.runs, run{w.text.String(), w.textFace})
		w.text.Reset()
	}
}

func (w *inline) lineBreak() {
	w.end()
	w.runs = append(w.runs, run{text: lineBreak})
}

func (w *inline) children(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		w.node(n)
	}
}

func (w *inline) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		w.prose(n)
	case *ast.CodeSpan:
		w.code(n)
	case *ast.Emphasis:
		f := w.face
		f.bold, f.italic = f.bold || n.Level == 2, f.italic || n.Level == 1
		w.marked(n, strings.Repeat("*", n.Level), f)
	case *extast.Strikethrough:
		f := w.face
		f.strike = true
		w.marked(n, "~~", f)
	case *ast.Link:
		w.link(n)
	case *ast.Image:
		w.image(n)
	case *ast.AutoLink:
		w.in(linkFace(w.face), func() { w.add(string(n.Label(w.source))) })
	case *ast.RawHTML:
		w.html(n)
	case *extast.TaskCheckBox: // the mark of its item
	default:
		w.children(n)
	}
}

// in adds text in another face.
func (w *inline) in(f face, add func()) {
	saved := w.face
	w.face = f
	add()
	w.face = saved
}

// marked adds the text between marks, in a face if there is colour.
func (w *inline) marked(n ast.Node, mark string, f face) {
	if w.color {
		w.in(f, func() { w.children(n) })
		return
	}
	w.add(mark)
	w.children(n)
	w.add(mark)
}

func (w *inline) prose(n *ast.Text) {
	w.add(w.value(n))
	switch {
	case n.HardLineBreak(), n.SoftLineBreak() && w.breaks:
		w.lineBreak()
	case n.SoftLineBreak():
		w.add(" ")
	}
}

// value returns the text of a node, without its escapes.
func (w *inline) value(n *ast.Text) string {
	if n.IsRaw() {
		return string(n.Value(w.source))
	}
	return unescape(string(n.Value(w.source)))
}

func (w *inline) code(n *ast.CodeSpan) {
	code := strings.ReplaceAll(w.plain(n), "\n", " ")
	if w.cell {
		code = strings.ReplaceAll(code, `\|`, "|") // the only way to write | in a table's code
	}
	f := w.face
	f.color = render.StyleCyan
	if !w.color {
		code = "`" + code + "`"
	}
	w.in(f, func() { w.add(code) })
}

// link adds the text of a link, and its address unless that is the text.
func (w *inline) link(n *ast.Link) {
	text, address := w.plain(n), unescape(string(n.Destination))
	f := linkFace(w.face)
	if text == "" {
		w.in(f, func() { w.add(address) })
		return
	}
	w.in(f, func() { w.children(n) })
	if address == "" || address == text || address == "mailto:"+text {
		return
	}
	w.add(" ")
	w.in(face{dim: true}, func() { w.add("(" + address + ")") })
}

func linkFace(f face) face {
	f.color = render.StyleBlue
	return f
}

// image adds the text of an image, or else its address.
func (w *inline) image(n *ast.Image) {
	text := w.plain(n)
	if text == "" {
		text = unescape(string(n.Destination))
	}
	w.add(text)
}

// html adds HTML as it was written (see drawing.html), except for the tag that ends a line: in a
// cell of a table, that tag is the only way to end a line.
func (w *inline) html(n *ast.RawHTML) {
	tag := w.segments(n.Segments)
	if slices.Contains([]string{"<br>", "<br/>", "<br />"}, strings.ToLower(tag)) {
		w.lineBreak()
		return
	}
	w.add(strings.ReplaceAll(tag, "\n", " "))
}

func (w *inline) segments(segments *text.Segments) string {
	var b strings.Builder
	for i := range segments.Len() {
		segment := segments.At(i)
		b.Write(segment.Value(w.source))
	}
	return b.String()
}

// plain returns the text in a node without faces and marks.
func (w *inline) plain(parent ast.Node) string {
	var b strings.Builder
	// The walk ends at the first error, and no function returns one.
	_ = ast.Walk(parent, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.WriteString(w.value(n))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteString(" ")
			}
		case *ast.AutoLink:
			b.Write(n.Label(w.source))
		case *ast.RawHTML:
			b.WriteString(w.segments(n.Segments))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// unescape resolves backslashes and references in one pass, so that the result of one does not
// begin another.
func unescape(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		part, n := s[:1], 1
		switch {
		case s[0] == '\\' && len(s) > 1 && util.IsPunct(s[1]):
			part, n = s[1:2], 2
		case s[0] == '&':
			part, n = reference(s)
		}
		b.WriteString(part)
		s = s[n:]
	}
	return b.String()
}

// reference resolves the reference at the beginning of s, and returns the text and the length of
// the reference. If s begins with no reference, it returns the first character. Package html also
// resolves names without a semicolon, which old pages have, and leaves the semicolon that follows
// in its result. In markdown these are not references, so reference does not use such a result.
func reference(s string) (string, int) {
	const longest = len("&CounterClockwiseContourIntegral;")
	end := strings.IndexByte(s[:min(len(s), longest)], ';')
	if end < 0 || strings.Trim(s[:end], "&#xX") == "" {
		return s[:1], 1
	}
	resolved := html.UnescapeString(s[:end+1])
	if resolved != ";" && strings.HasSuffix(resolved, ";") {
		return s[:1], 1
	}
	return resolved, end + 1
}
