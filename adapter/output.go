package adapter

import (
	"fmt"
	"strings"
)

// MaxOutput is how much of a tool's output is used, in bytes: 256 KiB is about 64,000 tokens, more
// than a model can use at once.
const MaxOutput = 256 << 10

// TextForModel returns a result as text for a model: the output, and the error if the output does
// not contain it.
func TextForModel(r ToolResult) string {
	text := CutMiddle(r.Output, MaxOutput)
	if r.Error == "" || strings.Contains(text, r.Error) {
		return text
	}
	if text != "" {
		text += "\n\n"
	}
	return text + "error: " + CutMiddle(r.Error, MaxOutput/16)
}

// CutMiddle shortens a text to about limit bytes: it keeps the beginning and the end, and says how
// much is missing. It does not split a character.
func CutMiddle(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head, tail := limit/2, len(text)-limit/2
	for head > 0 && !startsRune(text[head]) {
		head--
	}
	for tail < len(text) && !startsRune(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n\n[… %d bytes left out …]\n\n%s", text[:head], tail-head, text[tail:])
}

// startsRune reports whether b is not a continuation byte of UTF-8.
func startsRune(b byte) bool { return b&0xC0 != 0x80 }
