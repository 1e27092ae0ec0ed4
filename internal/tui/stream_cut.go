package tui

import (
	"strings"

	"github.com/patchbay-dev/patchbay/internal/pattern"
)

// A cut is a place in markdown at which the part above is complete: it is drawn the same whatever
// follows.
type cut struct {
	at    int    // 0: there is no cut
	carry string // the line that the part below must begin with, which opens its fence
	gap   bool   // an empty line is drawn between the parts
}

// lastCut finds the last cut in a text. carry is the line that opens the fence in which the text
// begins, or "".
func lastCut(carry, text string) cut {
	s := cutter{}
	if carry != "" {
		s.openFence(strings.TrimSuffix(carry, "\n"))
	}
	for line := range strings.Lines(text) {
		s.line(line)
		s.at += len(line)
	}
	return s.best
}

// A cutter reads the lines of a text. It knows just enough of markdown to avoid wrong cuts.
type cutter struct {
	at    int // the beginning of the line
	best  cut
	fence string // the mark that closes the open fence; "": none is open
	open  string // the line that opened it, if it may be cut
	list  bool   // the lines belong to a list
	blank bool   // the line before was empty
	begun bool   // there was a line that was not empty
}

var (
	fenceOpens = pattern.New("^( *)(`{3,}|~{3,})")
	itemBegins = pattern.New(`^([-*+]|[0-9]{1,9}[.)]) `)
	headBegins = pattern.New(`^#{1,6} `)
)

func (s *cutter) line(line string) {
	text := strings.TrimRight(line, " \n")
	switch {
	case s.fence != "":
		s.inFence(line, text)
		return
	case text == "":
		s.blank = true
		return
	case line[0] != ' ' && line[0] != '\t':
		s.block(line)
	}
	s.openFence(text)
	s.blank, s.begun = false, true
}

// block cuts before a line that begins a block.
func (s *cutter) block(line string) {
	item := itemBegins.MatchString(line)
	within := item && s.list // the list continues
	if s.begun && (s.blank || within || headBegins.MatchString(line)) {
		s.best = cut{at: s.at, gap: s.blank || !within}
	}
	if item || s.blank {
		s.list = item
	}
}

func (s *cutter) openFence(text string) {
	m := fenceOpens.Regexp().FindStringSubmatch(text)
	if m == nil {
		return
	}
	s.fence, s.open = m[2], ""
	if m[1] == "" {
		s.open = text + "\n"
	}
}

// closing returns the length of the first line of text, with its newline, if that line closes the
// open fence; otherwise 0. carry is the line that opened the fence.
func closing(carry, text string) int {
	s := cutter{}
	s.openFence(strings.TrimSuffix(carry, "\n"))
	line, _, whole := strings.Cut(text, "\n")
	if s.fence == "" || !whole || !s.closes(line) {
		return 0
	}
	return len(line) + 1
}

// closes reports whether a line closes the open fence.
func (s *cutter) closes(line string) bool {
	mark := strings.Trim(line, " ")
	return strings.HasPrefix(mark, s.fence) && strings.Trim(mark, s.fence[:1]) == ""
}

// inFence cuts after each whole line of code. An empty line stays with the code below it.
func (s *cutter) inFence(line, text string) {
	switch {
	case !strings.HasSuffix(line, "\n"):
	case s.closes(text):
		s.fence, s.begun = "", true
		s.blank = s.open != "" // after a fence a new block begins, except in a list, where the fence is part of its item
		s.list = s.list && s.open == ""
	case text != "" && s.open != "":
		s.best = cut{at: s.at + len(line), carry: s.open}
	}
}
