package render

import (
	"fmt"
	"io"
	"strings"
)

// unifiedContext is the number of lines that a unified diff shows around each change.
const unifiedContext = 3

// Unified compares two texts of foreign files, as a unified diff without names. Nothing is cut,
// because the reader uses the diff to decide whether to trust the files. Control characters are
// escaped, so the result is for readers: the program patch cannot apply it.
func Unified(old, new string) string {
	if old == new {
		return ""
	}
	var b strings.Builder
	all := allLines(withoutEmptyEnd(strings.SplitAfter(old, "\n")), withoutEmptyEnd(strings.SplitAfter(new, "\n")))
	for _, h := range hunks(all) {
		h.write(&b, all)
	}
	return b.String()
}

// withoutEmptyEnd removes the empty text that SplitAfter returns after the last line end.
func withoutEmptyEnd(lines []string) []string {
	if last := len(lines) - 1; last >= 0 && lines[last] == "" {
		return lines[:last]
	}
	return lines
}

// A hunk is a part of a diff: its lines [from:to], and where they begin in both texts.
type hunk struct {
	from, to         int
	oldLine, newLine int // the number of the first line in each text, from 1
}

// hunks returns the parts with changes. Parts that touch are joined.
func hunks(all []diffLine) []hunk {
	var out []hunk
	oldLine, newLine := make([]int, len(all)+1), make([]int, len(all)+1)
	for i, l := range all {
		oldLine[i+1], newLine[i+1] = oldLine[i], newLine[i]
		if l.sign != '+' {
			oldLine[i+1]++
		}
		if l.sign != '-' {
			newLine[i+1]++
		}
		if l.sign == ' ' {
			continue
		}
		from, to := max(i-unifiedContext, 0), min(i+1+unifiedContext, len(all))
		if last := len(out) - 1; last >= 0 && from <= out[last].to {
			out[last].to = to
			continue
		}
		out = append(out, hunk{from: from, to: to, oldLine: oldLine[from] + 1, newLine: newLine[from] + 1})
	}
	return out
}

func (h hunk) write(b *strings.Builder, all []diffLine) {
	old, new := 0, 0
	for _, l := range all[h.from:h.to] {
		if l.sign != '+' {
			old++
		}
		if l.sign != '-' {
			new++
		}
	}
	fmt.Fprintf(b, "@@ -%s +%s @@\n", span(h.oldLine, old), span(h.newLine, new))
	for _, l := range all[h.from:h.to] {
		text, ended := strings.CutSuffix(l.text, "\n")
		fmt.Fprintf(b, "%c%s\n", l.sign, Line(strings.ReplaceAll(text, "\t", strings.Repeat(" ", tabWidth))))
		if !ended {
			b.WriteString("\\ No line end at the end of the file\n")
		}
	}
}

// span returns the first line of a hunk in one of the texts, and its number of lines. A hunk
// without lines is placed after the line before it.
func span(line, count int) string {
	switch count {
	case 0:
		return fmt.Sprintf("%d,0", line-1)
	case 1:
		return fmt.Sprint(line)
	}
	return fmt.Sprintf("%d,%d", line, count)
}

// PrintUnified writes the result of Unified, indented and in colour.
func PrintUnified(w io.Writer, diff, indent string, o Options) error {
	for line := range strings.Lines(diff) {
		style := StyleDim
		switch line[0] {
		case '+', '-':
			style = signStyle(line[0])
		case '@':
			style = StyleCyan
		}
		if _, err := fmt.Fprintf(w, "%s%s\n", indent, o.paint(style, strings.TrimSuffix(line, "\n"))); err != nil {
			return err
		}
	}
	return nil
}
