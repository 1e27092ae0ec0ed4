package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// essays are replies whose parts must look the same as the whole.
var essays = map[string]string{
	"paragraphs":        "# One\n\nA paragraph.\n\n## Two\nright below\n\nAnother **one**.\n\nAnd a third.",
	"code":              "Look:\n\n```go\nfunc a() {\n\n\treturn\n}\n\n\nfunc b() {}\n```\n\nThat is it.",
	"code to the end":   "Look:\n\n~~~\none\ntwo\n\nthree",
	"a fence in code":   "````md\n```\nnot the end\n```\nstill\n````\ndone",
	"a tight list":      "Things:\n- one\n- two\n  more of two\n  - deeper\n- three\n- four\n\nThe end.",
	"a loose list":      "1. one\n\n   more of one\n\n2. two\n\n3. three\n\nThe end.",
	"code in a list":    "- one\n  ```sh\n  ls\n\n  ls -l\n  ```\n- two\n- three",
	"a table":           "Before.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\nAfter.",
	"a quote":           "> one\n> two\n\nAfter.\n\n---\n\nThe end.",
	"nothing but code":  "```\n```",
	"a long paragraph":  strings.Repeat("Many words that say **little** and take `a while` to say it, (really). ", 6) + "\n\nThe end.",
	"marks over lines":  strings.Repeat("one **two ", 12) + strings.Repeat("three** four ", 12) + "\n\nThe end.",
	"numbers in prose":  strings.Repeat("In 1999 - and # later > than 1. that * so + much ", 7) + "\n\nThe end.",
	"lines that stay":   strings.Repeat("Jane *Doe*\n1 Long Street, `here`\n[Some](https://example.com) Town\n", 8) + "the end\n\nThe end.",
	"lines and blocks":  "one\ntwo\nthree\n- a\n- b\n\nfour\nfive\nsix\nseven\n```\ncode\n```\neight\nnine\nten\n# eleven\n",
	"lines and a table": "one\ntwo\nthree\nfour | five\n-----|-----\nsix | seven\neight | nine\n",
	"lines of marks":    strings.Repeat("one **two\nthree** four\n", 8) + "five",
	"prose, then lines": strings.Repeat(strings.Repeat("prose ", 11)+"\n", 4) + strings.Repeat("short\n", 8),
	"no spaces":         strings.Repeat("第七句话很长，很长（很长）。", 12) + "\n\nThe end.",
	"marks, no spaces":  strings.Repeat("很长**粗体**很长，`code`很长。", 12) + "\n\nThe end.",
	"links in prose":    strings.Repeat("See [the page](https://example.com/a) for more of it. ", 6) + "\n\nThe end.",
}

func TestScrolledParts(t *testing.T) {
	for name, text := range essays {
		t.Run(name, func(t *testing.T) {
			l := look{width: 60, height: 24}
			want := hang(l.replyMark(), l.markdown(text, l.cols()-len(gap)))
			for _, room := range []int{0, 3} {
				got := scrollAll(l, text, room)
				if strings.Join(got, "\n") != strings.Join(want, "\n") {
					t.Errorf("in %d lines at a time:\n%s\n--- want\n%s", room, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		})
	}
}

// TestLinesScroll: a paragraph of many lines does not wait for its end.
func TestLinesScroll(t *testing.T) {
	l := look{width: 60, height: 24}
	var s stream
	for i := range 60 {
		s.add(fmt.Sprintf("line %d of it\n", i))
		s.drawn = time.Time{}
		s.scroll(l, 10)
		if n := len(s.draw(l)); n > 10 {
			t.Fatalf("after line %d, %d lines are live", i, n)
		}
	}
}

// TestProseScrolls: a long paragraph does not wait for its end, also without spaces.
func TestProseScrolls(t *testing.T) {
	l := look{width: 60, height: 24}
	for _, piece := range []string{"words and ", "很长，", "很长**粗体**很长。", "one `two` "} {
		var s stream
		for range 400 {
			s.add(piece)
			s.drawn = time.Time{}
			s.scroll(l, 4)
			if n := len(s.draw(l)); n > 5 {
				t.Fatalf("%s: %d lines are live:\n%s", piece, n, strings.Join(s.draw(l), "\n"))
			}
		}
	}
}

// scrollAll streams a text character by character, and returns the scrollback at the end.
func scrollAll(l look, text string, room int) []string {
	var s stream
	var out []string
	for _, r := range text {
		s.add(string(r))
		s.drawn = time.Time{}
		out = append(out, s.scroll(l, room)...)
	}
	rest, _ := s.rest(text)
	return append(out, s.piece(l, rest)...)
}

func TestAReplyThatScrolled(t *testing.T) {
	long := strings.Repeat("A paragraph.\n\n", 40)
	play := func(d *driver, final string) {
		d.s.turn = &turn{cancel: func() {}}
		d.s.turn.stream.add(long)
		d.send(tickMsg{})
		if n := strings.Count(d.scrollback(), "A paragraph."); n < 20 {
			d.t.Fatalf("%d paragraphs are in the scrollback", n)
		}
		d.s.turn.stream.replace(final)
		d.s.turn.reply = &final
		d.s.printReply()
		d.s.turn = nil
		d.send(tickMsg{})
	}
	t.Run("is whole, and no part of it is there twice", func(t *testing.T) {
		drive(t, func(d *driver) {
			play(d, long+"The end.")
			if n := strings.Count(d.scrollback(), "A paragraph."); n != 40 || !strings.Contains(d.scrollback(), "The end.") {
				t.Errorf("%d paragraphs:\n%s", n, d.scrollback())
			}
		})
	})
	t.Run("is shown again if it was changed afterwards, with a warning", func(t *testing.T) {
		drive(t, func(d *driver) {
			play(d, "Something else.")
			d.wantPrinted("the reply was changed after this was shown", "● Something else.")
		})
	})
	t.Run("is followed by a warning if it was taken back", func(t *testing.T) {
		drive(t, func(d *driver) {
			play(d, "")
			d.wantPrinted("the reply was taken back")
		})
	})
}

func TestThePartBelowTheScrollback(t *testing.T) {
	drive(t, func(d *driver) {
		d.s.turn = &turn{cancel: func() {}}
		for i := range 60 {
			d.s.turn.stream.add(fmt.Sprintf("- item %d\n", i))
		}
		d.send(tickMsg{})
		if first, _, _ := strings.Cut(d.live(), "\n"); !strings.HasPrefix(first, "  • item") {
			t.Errorf("between items of one list there is %q:\n%s", first, d.live())
		}
		d.s.turn = nil
	})
}

// FuzzScroll: all text is in the scrollback at the end, in lines that fit, without control
// sequences.
func FuzzScroll(tf *testing.F) {
	f := variants.Few(tf)
	for _, essay := range essays {
		f.Add(essay, uint8(40))
	}
	f.Add(hostile, uint8(30))
	f.Fuzz(func(t *testing.T, text string, width uint8) {
		l := look{width: max(int(width), 24), height: 12}
		var s stream
		for rest := text; rest != ""; {
			n := min(len(rest), 1+len(rest)/8)
			s.add(rest[:n])
			rest = rest[n:]
			s.drawn = time.Time{}
			for _, line := range s.scroll(l, 2) {
				checkShown(t, l, line)
			}
		}
		if s.scrolled+string(s.text) != text {
			t.Errorf("%q and %q are not %q", s.scrolled, s.text, text)
		}
		for _, line := range s.piece(l, string(s.text)) {
			checkShown(t, l, line)
		}
	})
}
