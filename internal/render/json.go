package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON writes a value indented, with its keys and strings coloured.
func JSON(w io.Writer, raw json.RawMessage, o Options) error {
	_, err := io.WriteString(w, o.jsonText(raw)+"\n")
	return err
}

// jsonText returns a value indented and safe for a terminal. Text that is not JSON is returned as a
// Block.
func (o Options) jsonText(raw json.RawMessage) string {
	var b bytes.Buffer
	text := bytes.TrimRight(raw, " \t\r\n") // Indent would keep this white space
	if err := json.Indent(&b, SafeJSON(text), "", "  "); err != nil {
		return Block(string(raw))
	}
	if !o.Color {
		return b.String()
	}
	return o.colorJSON(b.Bytes())
}

// SafeJSON escapes, inside the strings of valid JSON, the characters that must not reach a
// terminal. The value stays the same: JSON requires escapes only for the C0 controls, and allows
// them for all characters. A byte that is not UTF-8 becomes U+FFFD, as every decoder reads it,
// because some terminals interpret it. Text that needs no escapes is returned unchanged.
func SafeJSON(raw []byte) []byte {
	if !bytes.ContainsFunc(raw, unfitInJSON) && utf8.Valid(raw) {
		return raw
	}
	var b bytes.Buffer
	for i := 0; i < len(raw); {
		r, size := utf8.DecodeRune(raw[i:])
		if !unfitInJSON(r) {
			b.WriteRune(r)
		} else if r1, r2 := utf16.EncodeRune(r); r1 != utf8.RuneError {
			fmt.Fprintf(&b, `\u%04x\u%04x`, r1, r2)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += size
	}
	return b.Bytes()
}

// unfitInJSON reports whether a character in valid JSON must be escaped. C0 controls need not be:
// in valid JSON they are white space between tokens.
func unfitInJSON(r rune) bool { return r >= 0x20 && unfit(r) }

// colorJSON colours indented JSON. The JSON is valid, so every quote outside of a string begins a
// string.
func (o Options) colorJSON(text []byte) string {
	var b strings.Builder
	for len(text) > 0 {
		n := tokenLen(text)
		token := string(text[:n])
		text = text[n:]
		b.WriteString(o.paint(tokenStyle(token, text), token))
	}
	return b.String()
}

// tokenLen returns the length of the first token of text: a string, a word, or other characters.
func tokenLen(text []byte) int {
	switch {
	case text[0] == '"':
		for i := 1; i < len(text); i++ {
			switch text[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
		return len(text)
	case isWord(text[0]):
		return runLen(text, isWord)
	}
	return runLen(text, func(c byte) bool { return c != '"' && !isWord(c) })
}

func runLen(text []byte, in func(byte) bool) int {
	for i, c := range text {
		if !in(c) {
			return i
		}
	}
	return len(text)
}

// isWord reports whether a character can be part of a number or of true, false and null.
func isWord(c byte) bool {
	return c == '-' || c == '+' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func tokenStyle(token string, rest []byte) Style {
	switch {
	case token[0] == '"' && bytes.HasPrefix(rest, []byte(":")):
		return StyleBlue
	case token[0] == '"':
		return StyleGreen
	case isWord(token[0]):
		return StyleCyan
	}
	return StylePlain
}
