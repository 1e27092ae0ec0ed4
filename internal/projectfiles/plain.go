package projectfiles

import (
	"bytes"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// errNoText is the error for an AGENTS.md or a prompt that is not text.
var errNoText = errors.New("it is not a text in UTF-8")

// isText reports whether the content of a file is text.
func isText(data []byte) bool { return bytes.IndexByte(data, 0) < 0 && utf8.Valid(data) }

// plain removes characters that a reader does not see: control characters and invisible ones, which
// could hide words from a person who reviews a file. Emoji and some writing systems need joiners
// and selectors. So a single joiner or selector is kept after a character that is not ASCII.
func plain(text string) string {
	last := rune(0) // the last character that was kept
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\u2028' || r == '\u2029':
			r = '\n'
		case r == '\n' || r == '\t':
		case needed(r):
			if last < 0x80 || needed(last) {
				return -1
			}
		case invisible(r):
			return -1
		}
		last = r
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// needed reports whether a character is one of the invisible ones that texts need: the two
// joiners, and the two selectors that choose how an emoji is drawn.
func needed(r rune) bool {
	return r == '\u200c' || r == '\u200d' || r == '\ufe0e' || r == '\ufe0f'
}

func invisible(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
