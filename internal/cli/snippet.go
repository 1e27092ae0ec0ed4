package cli

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/patchbay-dev/patchbay/internal/render"
)

// snippetWidth limits how much of a line is shown around an error.
const snippetWidth = 70

// position returns the line and the column of a byte, both from 1. Columns count characters.
func position(data []byte, offset int) (line, column int) {
	before := data[:offset]
	line = 1 + bytes.Count(before, []byte("\n"))
	begin := bytes.LastIndexByte(before, '\n') + 1
	return line, 1 + utf8.RuneCount(before[begin:])
}

// snippet returns the line of an error, with a caret below it.
func snippet(data []byte, offset int) string {
	begin := bytes.LastIndexByte(data[:offset], '\n') + 1
	end := len(data)
	if i := bytes.IndexByte(data[offset:], '\n'); i >= 0 {
		end = offset + i
	}
	before, after := string(data[begin:offset]), string(data[offset:end])
	before = lastPart(render.Line(before), snippetWidth/2)
	return "  " + render.Cut(before+render.Line(after), snippetWidth) + "\n" +
		"  " + strings.Repeat(" ", ansi.StringWidth(before)) + "^"
}

// lastPart returns the end of a text, in at most width columns.
func lastPart(s string, width int) string {
	if over := ansi.StringWidth(s) - width; over > 0 {
		return "…" + ansi.TruncateLeft(s, over+1, "")
	}
	return s
}
