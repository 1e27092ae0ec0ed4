package render

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Wrap breaks lines that are wider than width columns, only at spaces. Options, paths, addresses
// and commands in backquotes stay whole, even if they are wider than the screen, so that they can
// be copied. Continuation lines are indented like their first line, and by indent. A width of 0
// breaks nothing.
func Wrap(text string, width int, indent string) string {
	if width <= 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if ansi.StringWidth(line) > width {
			lines[i] = wrapLine(line, width, indent)
		}
	}
	return strings.Join(lines, "\n")
}

func wrapLine(line string, width int, indent string) string {
	body := strings.TrimLeft(line, " ")
	first := line[:len(line)-len(body)]
	indent = first + indent
	if ansi.StringWidth(indent) > width/2 { // a very narrow column could not be read
		indent = first
	}
	var b strings.Builder
	b.WriteString(first)
	at, empty := ansi.StringWidth(first), true
	for _, word := range wrapWords(body) {
		w := ansi.StringWidth(word)
		switch {
		case empty:
		case at+1+w > width:
			b.WriteString("\n" + indent)
			at = ansi.StringWidth(indent)
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at, empty = at+w, false
	}
	return b.String()
}

// wrapWords splits a line at its spaces, except for those between backquotes.
func wrapWords(line string) []string {
	var words []string
	quoted := false
	for i, word := range strings.Split(line, " ") {
		if quoted {
			words[len(words)-1] += " " + word
		} else {
			words = append(words, word)
		}
		if strings.Count(word, "`")%2 == 1 {
			rest := strings.SplitN(line, " ", i+2)
			quoted = !quoted && len(rest) == i+2 && strings.Contains(rest[i+1], "`")
		}
	}
	return words
}
