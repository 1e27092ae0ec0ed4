package sessionstore

import (
	"strings"
	"unicode"
)

// maxTitle is the longest title in characters: a line of a list on a narrow terminal.
const maxTitle = 80

// TitleOf returns the title of a session that begins with this text.
func TitleOf(text string) string { return titleOf(text) }

// titleOf returns the first line of a text that is not blank, shortened and without terminal
// control characters.
func titleOf(text string) string {
	for line := range strings.Lines(text) {
		line = line[:min(len(line), 16*maxTitle)] // long enough for any title, however long the line is
		line = strings.Map(printable, strings.ToValidUTF8(line, "\uFFFD"))
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			return cut(line)
		}
	}
	return ""
}

// printable replaces white space by spaces, and drops characters that cannot be printed.
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
