package notify

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// maxText bounds what is looked at of a foreign text. Every service's limit is far below.
const maxText = 64 << 10

// clean makes a foreign text fit to be shown: valid UTF-8, no escape sequences of terminals, no
// control characters but line ends and tabs, nothing that turns the direction of writing about.
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

// changesDirection tells the characters that override the direction of writing, with which a text
// can be made to look like another.
func changesDirection(r rune) bool {
	return r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069'
}

// oneLine is a text for a title.
func oneLine(s string) string { return strings.Join(strings.Fields(clean(s)), " ") }

// A unit is how a service counts the length of a text.
type unit func(s string) int

func utf8Bytes(s string) int  { return len(s) }
func characters(s string) int { return utf8.RuneCountInString(s) }

// utf16Units is how Telegram counts.
func utf16Units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

const ellipsis = "…"

// cut shortens a text to a limit, with … at its end. It cuts between what a reader sees as
// characters: neither an accent nor half a flag is left over.
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
