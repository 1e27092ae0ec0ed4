package tui

import (
	"time"
	"unicode/utf8"
)

// A stream is the text of a reply under way. It is drawn as markdown, as the
// whole reply will be, so that nothing jumps when it is done; but only as often
// as the screen moves, for a reply is parsed anew each time.
type stream struct {
	text  []byte
	lines []string // as drawn last
	width int      // they were drawn for
	stale bool     // text has come since
	drawn time.Time
}

// liveTail is how much of a long reply is drawn while it comes: several
// screens. The whole is printed when it is there.
const liveTail = 16 << 10

func (t *stream) add(text string) {
	t.text = append(t.text, text...)
	if over := len(t.text) - 2*liveTail; over > 0 { // half of it goes at once, and not a little each time
		t.text = append(t.text[:0], t.text[over+liveTail:]...)
		for len(t.text) > 0 && !utf8.RuneStart(t.text[0]) {
			t.text = t.text[1:]
		}
	}
	t.stale = true
}

func (t *stream) reset() { *t = stream{} }

// draw returns the lines of the text, at most every tickEvery new ones.
func (t *stream) draw(l look) []string {
	if len(t.text) == 0 {
		return nil
	}
	old := t.stale && time.Since(t.drawn) >= tickEvery
	if old || t.width != l.width {
		t.lines = hang(l.replyMark(), l.markdown(string(t.text), l.cols()-len(gap)))
		t.width, t.stale, t.drawn = l.width, false, time.Now()
	}
	return t.lines
}
