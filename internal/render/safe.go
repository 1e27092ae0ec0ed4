package render

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// tabWidth is the width of a tab: enough to show structure, without moving indented code off the
// screen.
const tabWidth = 4

// Line makes foreign text safe for one line of a terminal. It escapes control characters, line
// ends, invisible characters, and characters that change the reading direction.
func Line(s string) string {
	if !strings.ContainsFunc(s, unfit) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unfit(r):
			b.WriteString(escape(r))
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// Block is Line for text of several lines. Line ends stay, and tabs become spaces.
func Block(s string) string { return strings.Join(lines(s), "\n") }

// lines splits foreign text into lines that are safe for a terminal.
func lines(s string) []string {
	out := strings.Split(s, "\n")
	for i, line := range out {
		line = strings.TrimSuffix(line, "\r")
		out[i] = Line(strings.ReplaceAll(line, "\t", strings.Repeat(" ", tabWidth)))
	}
	return out
}

// unfit reports whether a character must not reach a terminal unescaped: controls (Cc: C0, DEL,
// C1), line and paragraph separators, and format characters (Cf), which hide or reorder text. The
// two joiners are allowed, because several scripts and most emoji need them.
func unfit(r rune) bool {
	const zeroWidthNonJoiner, zeroWidthJoiner = '\u200c', '\u200d'
	switch {
	case r < 0x20 || 0x7f <= r && r < 0xa0:
		return true
	case r < 0xa0 || r == zeroWidthNonJoiner || r == zeroWidthJoiner:
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

func escape(r rune) string {
	switch r {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	switch {
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// Cut shortens safe text to a number of columns.
func Cut(s string, width int) string {
	if ansi.StringWidth(s) <= width {
		return s
	}
	// Truncate counts a letter with a variation selector as narrower than StringWidth does, so its
	// result may be too wide.
	for at := max(width, 1); ; at-- {
		if short := ansi.Truncate(s, at, "…"); at == 1 || ansi.StringWidth(short) <= width {
			return short
		}
	}
}
