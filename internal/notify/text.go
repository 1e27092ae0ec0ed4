package notify

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// maxText bounds how much of a foreign text is processed. The limits of all services are far lower.
const maxText = 64 << 10

// clean makes a foreign text safe to show: valid UTF-8, without terminal escape sequences, without
// control characters except line ends and tabs, and without characters that change the direction of
// writing.
func clean(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
	}
	s = ansi.Strip(strings.ToValidUTF8(s, "\uFFFD"))
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || changesDirection(r) {
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}

// changesDirection reports whether r overrides the direction of writing. With such characters a
// text can look like another one.
func changesDirection(r rune) bool {
	return r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069'
}

// oneLine returns a cleaned text on one line, for a title.
func oneLine(s string) string { return strings.Join(strings.Fields(clean(s)), " ") }

// A unit measures the length of a text as a service does.
type unit func(s string) int

func utf8Bytes(s string) int  { return len(s) }
func characters(s string) int { return utf8.RuneCountInString(s) }

// utf16Units measures as Telegram does.
func utf16Units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

const ellipsis = "…"

// cut shortens a text to a limit and ends it with …. It cuts between grapheme clusters, so that no
// accent and no half of a flag is left over.
func cut(s string, limit int, cost unit) string {
	if cost(s) <= limit {
		return s
	}
	limit -= cost(ellipsis)
	if limit < 0 {
		return ""
	}
	end, spent := 0, 0
	for end < len(s) {
		cluster, _ := ansi.FirstGraphemeCluster(s[end:], ansi.GraphemeWidth)
		spent += cost(cluster)
		if spent > limit || cluster == "" {
			break
		}
		end += len(cluster)
	}
	return strings.TrimRightFunc(s[:end], unicode.IsSpace) + ellipsis
}
