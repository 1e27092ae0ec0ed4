package builtin

import (
	"fmt"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

const (
	snippetContext = 3  // lines around a change, as diff shows
	snippetHunks   = 5  // changes shown of an edit that makes many
	snippetLines   = 40 // lines shown of the old and of the new text each
)

// A region is a range of whole lines in which an edit changes something.
type region struct {
	start, end int // offsets in the content
	at         []int
}

// snippet returns the edit like a unified diff. It shows the model the new state of the file.
func (e *edit) snippet() string {
	var b strings.Builder
	shift := 0 // how many lines the regions before this one have added
	line, from := 1, 0
	regions := e.regions()
	for i, r := range regions {
		if i == snippetHunks {
			fmt.Fprintf(&b, "[%s more]\n", plural(len(regions)-i, "change"))
			break
		}
		line, from = line+strings.Count(e.content[from:r.start], "\n"), r.start
		old := splitLines(e.content[r.start:r.end])
		new := splitLines(e.replaced(r))
		e.hunk(&b, hunk{r: r, old: old, new: new, oldLine: line, newLine: line + shift})
		shift += len(new) - len(old)
	}
	return b.String()
}

// regions returns the lines that the edit changes. Changes that share a line are one region.
func (e *edit) regions() []region {
	var all []region
	for _, at := range e.at {
		start := strings.LastIndexByte(e.content[:at], '\n') + 1
		end := lineEnd(e.content, at+len(e.old))
		if last := len(all) - 1; last >= 0 && start < all[last].end {
			all[last].end = end
			all[last].at = append(all[last].at, at)
			continue
		}
		all = append(all, region{start: start, end: end, at: []int{at}})
	}
	return all
}

// lineEnd returns the offset after the line in which a text ends, its \n included. from is the
// offset after the text. If the text itself ends with \n, lineEnd returns from, so that the next
// line is not part of the region.
func lineEnd(content string, from int) int {
	if from > 0 && content[from-1] == '\n' {
		return from
	}
	if i := strings.IndexByte(content[from:], '\n'); i >= 0 {
		return from + i + 1
	}
	return len(content)
}

// replaced returns a region's text after the edit.
func (e *edit) replaced(r region) string {
	part := edit{content: e.content[r.start:r.end], old: e.old, new: e.new}
	for _, at := range r.at {
		part.at = append(part.at, at-r.start)
	}
	return part.after()
}

// A hunk is a region before and after the edit.
type hunk struct {
	r                region
	old, new         []string
	oldLine, newLine int
}

func (e *edit) hunk(b *strings.Builder, h hunk) {
	before := lastLines(e.content[:h.r.start], snippetContext)
	after := firstLines(e.content[h.r.end:], snippetContext)
	around := len(before) + len(after)
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", h.oldLine-len(before), len(h.old)+around, h.newLine-len(before), len(h.new)+around)
	signed(b, ' ', before)
	signed(b, '-', h.old)
	signed(b, '+', h.new)
	signed(b, ' ', after)
}

// signed writes lines after a sign, each shortened, without the middle if there are many.
func signed(b *strings.Builder, sign byte, lines []string) {
	for i, line := range lines {
		switch half := snippetLines / 2; {
		case len(lines) <= snippetLines || i < half || i >= len(lines)-half:
			short := excerpt.Head(line, quotedMax)
			if len(short) < len(line) {
				short += "…"
			}
			fmt.Fprintf(b, "%c%s\n", sign, short)
		case i == half:
			fmt.Fprintf(b, "%c[%s left out]\n", sign, plural(len(lines)-snippetLines, "line"))
		}
	}
}

// splitLines returns the lines of a text without their ends.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	return lines
}

// firstLines returns the first n lines of a text that may be long.
func firstLines(text string, n int) []string {
	end := 0
	for ; n > 0 && end < len(text); n-- {
		i := strings.IndexByte(text[end:], '\n')
		if i < 0 {
			end = len(text)
			break
		}
		end += i + 1
	}
	return splitLines(text[:end])
}

// lastLines returns the last n lines of a text that ends at the end of a line.
func lastLines(text string, n int) []string {
	start := len(text)
	for ; n > 0 && start > 0; n-- {
		start = strings.LastIndexByte(text[:start-1], '\n') + 1
	}
	return splitLines(text[start:])
}
