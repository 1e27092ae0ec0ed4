package cli

import (
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// A wordWrap writes text to a terminal as it arrives, and breaks its lines at words. A word is
// written when it is complete. Fenced code is written as it is, because users copy it.
type wordWrap struct {
	out   io.Writer
	width int // columns; 0: lines are not broken

	column int    // of the cursor
	begin  string // the first characters of the line
	code   bool   // the line is in fenced code
	held   string // spaces, and the part of the next word that has arrived
}

// Write writes text that is safe for a terminal.
func (w *wordWrap) Write(p []byte) (int, error) {
	var b strings.Builder
	for _, r := range string(p) {
		w.add(&b, r)
	}
	if w.code || w.width == 0 {
		w.flush(&b)
	}
	if _, err := io.WriteString(w.out, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *wordWrap) add(b *strings.Builder, r rune) {
	const fence = 3 // characters
	if len(w.begin) < fence && (r != ' ' || w.begin != "") {
		w.begin += string(r)
	}
	switch {
	case r == '\n':
		w.flush(b)
		b.WriteByte('\n')
		if strings.HasPrefix(w.begin, "```") || strings.HasPrefix(w.begin, "~~~") {
			w.code = !w.code
		}
		w.column, w.begin = 0, ""
	case r == ' ' && strings.Trim(w.held, " ") != "", ansi.StringWidth(string(r)) > 1: // a line may break beside a wide character
		w.flush(b)
		w.held = string(r)
	default:
		w.held += string(r)
	}
}

// flush writes the word, on a new line if it does not fit.
func (w *wordWrap) flush(b *strings.Builder) {
	word := strings.TrimLeft(w.held, " ")
	if w.width > 0 && !w.code && w.column > 0 && word != "" && w.column+ansi.StringWidth(w.held) > w.width {
		b.WriteByte('\n')
		w.held, w.column = word, 0
	}
	b.WriteString(w.held)
	w.column += ansi.StringWidth(w.held)
	w.held = ""
}
