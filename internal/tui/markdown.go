package tui

import (
	"strings"

	"github.com/yuin/goldmark/text"

	"github.com/patchbay-dev/patchbay/internal/render"
)

// Markdown is parsed by goldmark and drawn by us:
//
//	look.markdown             foreign text to lines of at most a width
//	  newParser               markdown_parse.go: CommonMark, and of GFM: tables, tasks, strikethrough, bare addresses
//	  drawing.blocks          markdown_blocks.go: headings, lists, quotes, code, with what they are indented by
//	    inline.children       markdown_inline.go: a block's text as runs, each with a face
//	    split, fill           markdown_wrap.go: runs to words, words to lines
//	    drawing.table         markdown_table.go
//
// A terminal obeys what it reads, and markdown spells control characters as references (&#27;), so
// that text which had none before it was parsed may have some after. Hence all text goes through
// render.Line as it becomes a run, where it is not yet measured, and the only sequences in a line
// are those that look.paint writes. Links are not clickable: what is clicked could be another
// address than the one that is read.

// maxMarkdown is the longest text that is parsed as markdown; one that is longer is shown as it is.
// At this length, the worst that was found takes the parser half a second.
const maxMarkdown = 128 << 10

// codeIndent sets code in a reply off from its text.
const codeIndent = 4

// markdown draws foreign markdown in lines of at most width columns.
func (l look) markdown(text string, width int) []string {
	plain := render.Block(strings.Trim(text, "\n"))
	if strings.TrimSpace(plain) == "" {
		return nil
	}
	if len(plain) <= maxMarkdown {
		if lines := l.drawMarkdown(plain, width); len(lines) > 0 {
			return lines
		}
	}
	return wrap(plain, width)
}

// markdownAfter draws a part of a longer text. carry is the line that opens the fence which the
// part begins in; "" where it begins in none.
func (l look) markdownAfter(carry, text string, width int) []string {
	if carry == "" {
		return l.markdown(text, width)
	}
	return l.drawMarkdown(render.Block(carry+strings.TrimRight(text, "\n")), width)
}

// source draws foreign source code.
func (l look) source(language, text string, width int) []string {
	d := drawing{look: l, width: max(width, 1)}
	d.code(strings.Split(render.Block(strings.Trim(text, "\n")), "\n"), language, 0)
	return d.lines
}

// drawMarkdown draws text that is fit to be shown. There may be nothing to see, of addresses that
// no link names; or the parser, which is not ours and reads foreign text, panics. Then there are no
// lines.
func (l look) drawMarkdown(plain string, width int) (lines []string) {
	defer func() {
		if recover() != nil {
			lines = nil
		}
	}()
	d := drawing{look: l, source: []byte(plain), width: max(width, 1)}
	d.blocks(newParser().Parse(text.NewReader(d.source)), false)
	return d.lines
}
