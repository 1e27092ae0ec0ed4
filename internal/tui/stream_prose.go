package tui

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// proseCut finds a cut in a paragraph that is under way, behind lines of it that are full. It is
// made only where what is above is drawn by itself as it is in the whole, and what is below goes on
// as text.
func (t *stream) proseCut(l look) cut {
	text := string(t.text)
	if t.carry != "" || strings.Contains(text, "\n") || beginsBlock(text) {
		return cut{}
	}
	width := l.cols() - len(gap)
	drawn := l.markdown(text, width)
	const under = 2 // lines: the last, and one for a word that still grows
	for n := len(drawn) - under; n > 0; n-- {
		at := afterFields(text, len(strings.Fields(ansi.Strip(strings.Join(drawn[:n], " ")))))
		if !opensMark(text[:at]) && !beginsBlock(text[at:]) && slices.Equal(l.markdown(text[:at], width), drawn[:n]) {
			return cut{at: at}
		}
	}
	return cut{}
}

// afterFields is where a text goes on behind so many words and the spaces after them.
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

// beginsBlock tells whether a text could begin something else than a paragraph.
func beginsBlock(text string) bool {
	return text == "" || strings.ContainsRune(" \t#>|`~-*+=<:[", rune(text[0])) || text[0] >= '0' && text[0] <= '9'
}

// opensMark tells whether a text has marks that may be closed only behind it.
func opensMark(text string) bool {
	for _, mark := range []string{"*", "_", "`", "~"} {
		if strings.Count(text, mark)%2 != 0 {
			return true
		}
	}
	return strings.Count(text, "[") != strings.Count(text, "]") || strings.Count(text, "(") != strings.Count(text, ")") ||
		strings.Count(text, "<") != strings.Count(text, ">")
}
