package tui

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// proseCut finds a cut in an unfinished paragraph, after full lines. It cuts only if the part above
// looks the same when it is drawn alone, and if the part below cannot begin another kind of block.
func (t *stream) proseCut(l look) cut {
	text := string(t.text)
	if t.carry != "" || beginsBlock(text) {
		return cut{}
	}
	width := l.cols() - len(gap)
	if strings.Contains(text, "\n") {
		return verseCut(l, text, width)
	}
	drawn := l.markdown(text, width)
	const under = 1 // the last line, which still grows
	for n := len(drawn) - under; n > 0; n-- {
		at := afterDrawn(text, ansi.Strip(strings.Join(drawn[:n], "")))
		if !opensMark(text[:at]) && !beginsBlock(text[at:]) && slices.Equal(l.markdown(text[:at], width), drawn[:n]) {
			return cut{at: at}
		}
	}
	return cut{}
}

// verseCut finds a cut in a paragraph whose lines are kept as they are, between two of its lines.
// The part below is drawn by itself later. So its first two lines must be enough to show that its
// line ends are meant (see [endsEarly]).
func verseCut(l look, text string, width int) cut {
	lines := strings.SplitAfter(text, "\n")
	last := len(lines) - 1 // the line that still grows
	at, tries := len(text)-len(lines[last]), 0
	for n := last - 1; n > 0 && tries < maxVerseTries; n-- {
		at -= len(lines[n])
		if n+1 == last || beginsBlock(lines[n]) || !endsEarly(lines[n], lines[n+1]) || opensMark(text[:at]) {
			continue
		}
		if tries++; slices.Equal(slices.Concat(l.markdown(text[:at], width), l.markdown(text[at:], width)), l.markdown(text, width)) {
			return cut{at: at}
		}
	}
	return cut{}
}

// maxVerseTries bounds the work for a text in which no cut is found. Usually the first try finds
// one.
const maxVerseTries = 4

// afterDrawn returns where the part of a markdown text ends that drawn shows. drawn has the joined
// lines of a drawing. The marks and spaces that follow belong to that part. afterDrawn ignores the
// spaces in drawn, because a line that breaks between wide characters has none at its end.
func afterDrawn(text, drawn string) int {
	rest := text
	for _, r := range strings.ReplaceAll(drawn, " ", "") {
		i := strings.IndexRune(rest, r)
		if i < 0 {
			return len(text)
		}
		rest = rest[i+utf8.RuneLen(r):]
	}
	rest = strings.TrimLeft(rest, marks)
	return len(text) - len(strings.TrimLeft(rest, " "))
}

// marks are the characters of markdown that emphasize text.
const marks = "*_`~"

// beginsBlock reports whether a text could begin something other than a paragraph.
func beginsBlock(text string) bool {
	return text == "" || strings.ContainsRune(" \t#>|`~-*+=<:[", rune(text[0])) || text[0] >= '0' && text[0] <= '9'
}

// opensMark reports whether a text has marks that may be closed only after it.
func opensMark(text string) bool {
	for _, mark := range marks {
		if strings.Count(text, string(mark))%2 != 0 {
			return true
		}
	}
	return strings.Count(text, "[") != strings.Count(text, "]") || strings.Count(text, "(") != strings.Count(text, ")") ||
		strings.Count(text, "<") != strings.Count(text, ">")
}
