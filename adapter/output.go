package adapter

import (
	"fmt"
	"strings"
)

// MaxOutput is how much of a tool's output is kept: 256 KiB is some 64,000 tokens, more than any
// model makes use of at once.
const MaxOutput = 256 << 10

// Told is a result as a model is told it: the output, and the error where the output does not say
// it already.
func Told(r ToolResult) string {
	text := CutMiddle(r.Output, MaxOutput)
	if r.Error == "" || strings.Contains(text, r.Error) {
		return text
	}
	if text != "" {
		text += "\n\n"
	}
	return text + "error: " + CutMiddle(r.Error, MaxOutput/16)
}

// CutMiddle keeps the beginning and the end of a text that is too long, and says how much is
// missing. No character is cut in two.
func CutMiddle(text string, most int) string {
	if len(text) <= most {
		return text
	}
	head, tail := most/2, len(text)-most/2
	for head > 0 && !startsRune(text[head]) {
		head--
	}
	for tail < len(text) && !startsRune(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n\n[… %d bytes left out …]\n\n%s", text[:head], tail-head, text[tail:])
}

// startsRune: every byte but a continuation byte of UTF-8 starts a character.
func startsRune(b byte) bool { return b&0xC0 != 0x80 }
