package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// A word is text that stays on one line if it fits.
type word struct {
	lead  run // the spaces before it, dropped if it begins a line
	runs  []run
	width int  // of its runs
	ends  bool // not a word, but the end of a line
}

// split splits runs into words: at spaces, and between characters in scripts without spaces.
func split(runs []run) []word {
	var s splitter
	for _, r := range runs {
		if r.text == lineBreak {
			s.end()
			s.words = append(s.words, word{ends: true})
			continue
		}
		s.add(r)
	}
	s.end()
	return s.words
}

type splitter struct {
	words []word
	word  word // the current one
	last  rune // its last character if that is wide; else 0
}

// end ends the current word. Spaces without a following word are dropped.
func (s *splitter) end() {
	if len(s.word.runs) > 0 {
		s.words = append(s.words, s.word)
	}
	s.word, s.last = word{}, 0
}

func (s *splitter) add(r run) {
	for text := r.text; text != ""; {
		rest := strings.TrimLeft(text, " ")
		if spaces := len(text) - len(rest); spaces > 0 {
			s.space(run{text[:spaces], r.face})
			text = rest
			continue
		}
		end := strings.IndexByte(text, ' ')
		if end < 0 {
			end = len(text)
		}
		s.piece(run{text[:end], r.face})
		text = text[end:]
	}
}

func (s *splitter) space(r run) {
	lead := s.word.lead
	if len(s.word.runs) > 0 || lead.text == "" {
		s.end()
		s.word.lead = r
		return
	}
	s.word.lead.text += r.text // spaces in another face
}

// piece adds text without spaces to the current word. Between wide characters a line may break.
func (s *splitter) piece(r run) {
	if isASCII(r.text) {
		s.put(r, len(r.text))
		s.last = 0
		return
	}
	start, width := 0, 0
	for at := 0; at < len(r.text); {
		cluster, columns := ansi.FirstGraphemeCluster(r.text[at:], ansi.GraphemeWidth)
		char, _ := utf8.DecodeRuneInString(cluster)
		if columns < 2 {
			char = 0
		}
		if mayBreak(s.last, char) {
			s.put(run{r.text[start:at], r.face}, width)
			s.end()
			start, width = at, 0
		}
		at, width, s.last = at+len(cluster), width+columns, char
	}
	s.put(run{r.text[start:], r.face}, width)
}

func (s *splitter) put(r run, width int) {
	if r.text == "" {
		return
	}
	s.word.runs = join(s.word.runs, r)
	s.word.width += width
}

// mayBreak reports whether a line may break between two characters: if both are wide, but not
// before a closing mark, nor after an opening one.
func mayBreak(before, after rune) bool {
	return before != 0 && after != 0 &&
		!unicode.In(before, unicode.Ps, unicode.Pi) && !unicode.In(after, unicode.Pe, unicode.Pf, unicode.Po, unicode.Lm)
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// join adds a run to others, or to the last of them if both have the same face.
func join(runs []run, r run) []run {
	if last := len(runs) - 1; last >= 0 && runs[last].face == r.face {
		runs[last].text += r.text
		return runs
	}
	return append(runs, r)
}

// fill arranges words in lines of at most width columns. It breaks only words that are wider than a
// line.
func fill(words []word, width int) [][]run {
	f := filler{width: max(width, 1)}
	for _, w := range words {
		f.add(w)
	}
	if f.begun {
		f.end(false)
	}
	return f.lines
}

type filler struct {
	width   int
	lines   [][]run
	line    []run // the current one
	used    int   // its columns so far
	begun   bool  // it has a word
	wrapped bool  // it continues the line above
}

func (f *filler) end(wrapped bool) {
	f.lines = append(f.lines, f.line)
	f.line, f.used, f.begun, f.wrapped = nil, 0, false, wrapped
}

func (f *filler) add(w word) {
	if w.ends {
		f.end(false)
		return
	}
	if f.begun && f.used+len(w.lead.text)+w.width > f.width {
		f.end(true)
	}
	f.lead(w)
	f.begun = true
	if f.used+w.width <= f.width {
		for _, r := range w.runs {
			f.line = join(f.line, r)
		}
		f.used += w.width
		return
	}
	f.chop(w)
}

// lead adds the spaces before a word. Spaces at the beginning of a text, the indent of code, stay
// as far as the word leaves room.
func (f *filler) lead(w word) {
	spaces := len(w.lead.text)
	switch {
	case f.wrapped && !f.begun:
		spaces = 0
	case !f.begun:
		spaces = max(min(spaces, f.width-w.width), 0)
	}
	if spaces > 0 {
		f.line = join(f.line, run{w.lead.text[:spaces], w.lead.face})
		f.used += spaces
	}
}

// chop breaks a word that is wider than a line, and fills as many lines with it as it needs.
func (f *filler) chop(w word) {
	for _, r := range w.runs {
		for text := r.text; text != ""; {
			cluster, width := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
			if f.used > 0 && f.used+width > f.width {
				f.end(true)
				f.begun = true
			}
			f.line = join(f.line, run{cluster, r.face})
			f.used += width
			text = text[len(cluster):]
		}
	}
}

// textWidth returns the width of words without wrapping.
func textWidth(words []word) int {
	widest, width := 0, 0
	for _, w := range words {
		if w.ends {
			width = 0
			continue
		}
		width += len(w.lead.text) + w.width
		widest = max(widest, width)
	}
	return widest
}
