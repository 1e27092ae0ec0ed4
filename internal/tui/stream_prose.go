package tui

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// proseCut finds a cut in an unfinished paragraph, after full lines. It cuts only if the part above
// is drawn alone as it is in the whole, and the part below continues as text.
func (t *stream) proseCut(l look) cut {
	text := string(t.text)
	if t.carry != "" || strings.Contains(text, "\n") || beginsBlock(text) {
		return cut{}
	}
	width := l.cols() - len(gap)
	drawn := l.markdown(text, width)
	const under = 2 // lines: the last, and one for a word that may still grow
	for n := len(drawn) - under; n > 0; n-- {
		at := afterFields(text, len(strings.Fields(ansi.Strip(strings.Join(drawn[:n], " ")))))
		if !opensMark(text[:at]) && !beginsBlock(text[at:]) && slices.Equal(l.markdown(text[:at], width), drawn[:n]) {
			return cut{at: at}
		}
	}
	return cut{}
}

// afterFields returns where a text continues after n words and the spaces after them.
func afterFields(text string, n int) int {
	rest := text
	for range n {
		rest = strings.TrimLeft(rest, " ")
		end := strings.IndexByte(rest, ' ')
		if end < 0 {
			return len(text)
		}
		rest = rest[end:]
	}
	return len(text) - len(strings.TrimLeft(rest, " "))
}

// beginsBlock reports whether a text could begin something other than a paragraph.
func beginsBlock(text string) bool {
	return text == "" || strings.ContainsRune(" \t#>|`~-*+=<:[", rune(text[0])) || text[0] >= '0' && text[0] <= '9'
}

// opensMark reports whether a text has marks that may be closed only after it.
func opensMark(text string) bool {
	for _, mark := range []string{"*", "_", "`", "~"} {
		if strings.Count(text, mark)%2 != 0 {
			return true
		}
	}
	return strings.Count(text, "[") != strings.Count(text, "]") || strings.Count(text, "(") != strings.Count(text, ")") ||
		strings.Count(text, "<") != strings.Count(text, ">")
}
