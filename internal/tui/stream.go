package tui

import (
	"strings"
	"time"
	"unicode/utf8"
)

// A stream is the text of a reply under way. It is drawn as markdown, as the whole reply will be,
// so that nothing jumps when it is done; but only as often as the screen moves, for a reply is
// parsed anew each time. What has become taller than its share of the screen goes into the
// scrollback, in whole blocks, or whole lines of a paragraph.
type stream struct {
	scrolled string // the text that is in the scrollback already
	carry    string // opens the fence again that the last cut was made in
	gap      bool   // an empty line is due between scrolled and text

	text  []byte   // the rest, which is live
	lines []string // as drawn last
	width int      // they were drawn for
	stale bool     // text has come since
	drawn time.Time
	tried time.Time // when that was drawn of which it is known that it cannot be cut
}

// liveTail is how much of a block is drawn while it comes: several screens. The whole is printed
// when it is there.
const liveTail = 16 << 10

func (t *stream) add(text string) {
	t.text = append(t.text, text...)
	t.stale = true
	t.closeFence()
}

// closeFence leaves a fence whose code is in the scrollback to the last line.
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

// replace makes text the whole reply. What of it was scrolled stays so; a reply that begins
// otherwise is all live.
func (t *stream) replace(text string) {
	rest, same := t.rest(text)
	if !same {
		t.carry, t.gap = "", true
	}
	t.text, t.stale, t.drawn = []byte(rest), true, time.Time{}
	t.closeFence()
}

// rest is what of a whole reply is not in the scrollback, and whether the reply begins with what
// is.
func (t *stream) rest(text string) (string, bool) {
	if rest, ok := strings.CutPrefix(text, t.scrolled); ok {
		return rest, true
	}
	if rest, ok := strings.CutPrefix(strings.TrimLeft(text, " \n"), strings.TrimLeft(t.scrolled, " \n")); ok {
		return rest, true
	}
	return text, false
}

// draw returns the lines of the text, at most every tickEvery new ones.
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

// ending is the end of a long text.
func ending(text []byte) string {
	text = text[max(len(text)-liveTail, 0):]
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return string(text)
}

// piece draws a part of the reply: the first has the mark, and the others what they need to go on
// from the one above.
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

// scroll takes blocks that are whole off the text, where it is drawn in more than room lines, and
// returns their lines for the scrollback.
func (t *stream) scroll(l look, room int) []string {
	if len(t.draw(l)) <= room || t.tried.Equal(t.drawn) {
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
