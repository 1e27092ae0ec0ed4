package proc

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// FuzzStderr: the logged lines do not depend on how the pipe splits them, none is too long, and the
// tail is the end of the output.
func FuzzStderr(tf *testing.F) {
	f := variants.Of(tf)
	f.Add([]byte("one\ntwo\r\n\nthree"), 3)
	f.Add([]byte(strings.Repeat("x", maxLine+1)+"\n"), 4096)
	f.Add([]byte(strings.Repeat("é", maxTail)), 7)
	f.Add([]byte("\xff\xfe\n\xff"), 1)
	f.Fuzz(func(t *testing.T, text []byte, chunk int) {
		chunk = max(chunk%5000, 1)
		var whole, cut []string
		e := newStderr(nil, func(line string) { whole = append(whole, line) })
		e.split(text)
		e.flush()
		pieces := newStderr(nil, func(line string) { cut = append(cut, line) })
		for from := 0; from < len(text); from += chunk {
			part := text[from:min(from+chunk, len(text))]
			pieces.remember(part)
			pieces.split(part)
		}
		pieces.flush()
		if got, want := strings.Join(cut, "|"), strings.Join(whole, "|"); got != want {
			t.Errorf("in pieces of %d: %q, want %q", chunk, got, want)
		}
		for _, line := range whole {
			if len(line) > maxLine || strings.Contains(line, "\n") {
				t.Errorf("a line of %d bytes", len(line))
			}
		}
		tail := pieces.tail()
		if !strings.HasSuffix(string(text), tail) || len(tail) > maxTail || len(tail) < min(len(text), maxTail-utf8.UTFMax) {
			t.Errorf("the tail of %d bytes has %d", len(text), len(tail))
		}
	})
}
