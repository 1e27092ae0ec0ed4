package tui

import (
	"strings"
	"time"
	"unicode/utf8"
)

// A stream is the text of the current reply. It is drawn as markdown, as the whole reply will be,
// so that nothing jumps at the end. It is drawn only as often as the screen, because a reply is
// parsed each time. If it becomes taller than its share of the screen, whole blocks, or whole lines
// of a paragraph, go into the scrollback.
type stream struct {
	scrolled string // the part in the scrollback
	carry    string // if the last cut was in a fence: the line that opens this fence again
	gap      bool   // an empty line belongs between scrolled and text

	text  []byte   // the rest, which is live
	lines []string // as drawn last
	width int      // the width for which lines were drawn
	stale bool     // text has arrived since
	drawn time.Time
	tried time.Time // the value of drawn at the last search for a cut
}

// liveTail is how many bytes of a block are drawn while it arrives: several screens. The whole
// block is printed at its end.
const liveTail = 16 << 10

func (t *stream) add(text string) {
	t.text = append(t.text, text...)
	t.stale = true
	t.closeFence()
}

// closeFence removes the last line of a fence whose code is in the scrollback.
func (t *stream) closeFence() {
	if t.carry == "" {
		return
	}
	if n := closing(t.carry, string(t.text)); n > 0 {
		t.scrolled += string(t.text[:n])
		t.text, t.carry, t.gap = t.text[n:], "", true
	}
}

func (t *stream) reset() { *t = stream{} }

// replace sets the whole reply. The scrolled part stays if the reply begins with it; otherwise all
// of the reply is live.
func (t *stream) replace(text string) {
	rest, same := t.rest(text)
	if !same {
		t.carry, t.gap = "", true
	}
	t.text, t.stale, t.drawn = []byte(rest), true, time.Time{}
	t.closeFence()
}

// rest returns the part of a whole reply that is not in the scrollback, and whether the reply
// begins with the scrolled part.
func (t *stream) rest(text string) (string, bool) {
	if rest, ok := strings.CutPrefix(text, t.scrolled); ok {
		return rest, true
	}
	if rest, ok := strings.CutPrefix(strings.TrimLeft(text, " \n"), strings.TrimLeft(t.scrolled, " \n")); ok {
		return rest, true
	}
	return text, false
}

// draw returns the lines of the text. It draws them again at most every tickEvery.
func (t *stream) draw(l look) []string {
	if len(t.text) == 0 {
		return nil
	}
	old := t.stale && time.Since(t.drawn) >= tickEvery
	if old || t.width != l.width {
		t.lines = t.piece(l, ending(t.text))
		t.width, t.stale, t.drawn = l.width, false, time.Now()
	}
	return t.lines
}

// ending returns the end of a long text.
func ending(text []byte) string {
	text = text[max(len(text)-liveTail, 0):]
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return string(text)
}

// piece draws a part of the reply: the first part has the mark, and the others continue the part
// above.
func (t *stream) piece(l look, text string) []string {
	mark := gap
	if t.scrolled == "" {
		mark = l.replyMark()
	}
	lines := l.markdownAfter(t.carry, text, l.cols()-len(gap))
	if len(lines) == 0 {
		return nil
	}
	out := hang(mark, lines)
	out[0] = strings.TrimRight(out[0], " ")
	if t.gap {
		return append([]string{""}, out...)
	}
	return out
}

// scroll removes whole blocks from a text that needs more than room rows, and returns their lines
// for the scrollback.
func (t *stream) scroll(l look, room int) []string {
	if rowsAt(assumedWidth, t.draw(l)) <= room || t.tried.Equal(t.drawn) {
		return nil
	}
	t.tried = t.drawn
	c := lastCut(t.carry, string(t.text))
	if c.at == 0 {
		c = t.proseCut(l)
	}
	if c.at == 0 {
		return nil
	}
	lines := t.piece(l, string(t.text[:c.at]))
	t.scrolled += string(t.text[:c.at])
	t.text, t.carry, t.gap = t.text[c.at:], c.carry, c.gap
	t.lines, t.width = nil, 0
	t.closeFence()
	return lines
}
