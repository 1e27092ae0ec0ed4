package sessionstore

import (
	"strings"
	"unicode"
)

// maxTitle is how many characters a title has at most: a line of a list on a narrow terminal.
const maxTitle = 80

// TitleOf is what a session is called that begins with this text.
func TitleOf(text string) string { return titleOf(text) }

// titleOf is the first line of a text that has one, cut, and free of what could steer a terminal.
func titleOf(text string) string {
	for line := range strings.Lines(text) {
		line = line[:min(len(line), 16*maxTitle)] // enough for any title, whatever is pasted
		line = strings.Map(printable, strings.ToValidUTF8(line, "\uFFFD"))
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			return cut(line)
		}
	}
	return ""
}

// printable makes spaces of tabs and the like, and drops what is not to be seen.
func printable(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.IsPrint(r):
		return r
	}
	return -1
}

func cut(line string) string {
	runes := []rune(line)
	if len(runes) <= maxTitle {
		return line
	}
	return strings.TrimSpace(string(runes[:maxTitle-1])) + "…"
}
