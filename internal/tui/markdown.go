package tui

import (
	"strings"

	"github.com/yuin/goldmark/text"

	"github.com/patchbay-dev/patchbay/internal/render"
)

// Markdown is parsed by goldmark and drawn by us:
//
//	look.markdown             foreign text to lines of at most a width
//	  newParser               markdown_parse.go: CommonMark, and from GFM tables, tasks, strikethrough, bare addresses
//	  drawing.blocks          markdown_blocks.go: headings, lists, quotes, code, and their indents
//	    inline.children       markdown_inline.go: a block's text as runs, each with a face
//	    split, fill           markdown_wrap.go: runs to words, words to lines
//	    drawing.table         markdown_table.go
//
// A terminal obeys control characters, and markdown can write them as references (&#27;). So text
// that had none before it was parsed may have some afterwards. Therefore all text goes through
// render.Line when it becomes a run, before it is measured, and only look.paint writes sequences
// into a line. Links are not clickable: a click could open another address than the one that the
// user reads.

// maxMarkdown is the longest text that is parsed as markdown. A longer text is shown as it is. At
// this length, the worst known text takes the parser half a second.
const maxMarkdown = 128 << 10

// codeIndent is the indent of code in a reply.
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

// markdownAfter draws a part of a longer text. carry is the line that opens the fence in which the
// part begins; "" if it begins in none.
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

// drawMarkdown draws text that is safe to be shown. It returns no lines if nothing is visible, as
// in a text that only defines the addresses of links. It also returns none if the parser panics:
// the parser is not ours, and reads foreign text.
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
