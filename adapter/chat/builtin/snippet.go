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

// A region is a run of whole lines in which an edit changes something.
type region struct {
	start, end int // offsets in the content
	at         []int
}

// snippet shows the edit like a unified diff: what the model gets to see of the file as it is now.
func (e *edit) snippet() string {
	var b strings.Builder
	shift := 0 // how many lines the regions before have added
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

// regions are the lines that the edit touches; changes that share a line are one region.
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

// lineEnd is the offset after the line end at or after from. A text that ends in a line end has
// touched that line, and not the next.
func lineEnd(content string, from int) int {
	if from > 0 && content[from-1] == '\n' {
		return from
	}
	if i := strings.IndexByte(content[from:], '\n'); i >= 0 {
		return from + i + 1
	}
	return len(content)
}

// replaced is a region's text after the edit.
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

// signed writes lines behind a sign, each cut, and the middle left out where they are many.
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

// splitLines are the lines of a text, without their ends.
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

// firstLines are the first n lines of a text, which may be long.
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

// lastLines are the last n lines of a text that ends at the end of one.
func lastLines(text string, n int) []string {
	start := len(text)
	for ; n > 0 && start > 0; n-- {
		start = strings.LastIndexByte(text[:start-1], '\n') + 1
	}
	return splitLines(text[start:])
}
