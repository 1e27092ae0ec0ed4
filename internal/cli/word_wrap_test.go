package cli

import (
	"strings"
	"testing"
)

// TestAnAnswerBreaksAtWords: on a terminal the lines of `chat -p` break at words, however the text
// is cut into pieces, but not in fenced code. Text without spaces is not held back.
func TestAnAnswerBreaksAtWords(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"one two three four\n", "one two\nthree four\n"},
		{"one two threefour\n", "one two\nthreefour\n"},
		{"averyveryverylongword and more\n", "averyveryverylongword\nand more\n"},
		{"a  b\n\n  - item that goes on\n", "a  b\n\n  - item\nthat goes\non\n"},
		{"```\nfmt.Println(a, b, c)\n```\none two three\n", "```\nfmt.Println(a, b, c)\n```\none two\nthree\n"},
		{"日本語日本語 x\n", "日本語日本\n語 x\n"},
	} {
		for size := 1; size <= len(tt.text); size++ {
			var b strings.Builder
			w := &wordWrap{out: &b, width: 10}
			for rest := []rune(tt.text); len(rest) > 0; rest = rest[min(size, len(rest)):] {
				if _, err := w.Write([]byte(string(rest[:min(size, len(rest))]))); err != nil {
					t.Fatal(err)
				}
			}
			if b.String() != tt.want {
				t.Errorf("in pieces of %d: %q, want %q", size, b.String(), tt.want)
			}
		}
	}
	var b strings.Builder
	w := &wordWrap{out: &b, width: 80}
	for _, piece := range []string{"one two", "日本"} {
		if _, err := w.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if b.String() != "one two日" {
		t.Errorf("written so far: %q", b.String())
	}
}

// TestADumbTerminalHasNoLiveLine: a terminal that cannot draw over a line gets none.
func TestADumbTerminalHasNoLiveLine(t *testing.T) {
	for term, want := range map[string]bool{"dumb": false, "xterm": true} {
		c := newConsole(t, "TERM="+term)
		c.ErrTTY = true
		if a := (&app{IO: c.IO}); (a.line() != nil) != want {
			t.Errorf("TERM=%s: %v", term, !want)
		}
	}
}
