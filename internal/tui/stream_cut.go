package tui

import (
	"strings"

	"github.com/patchbay-dev/patchbay/internal/pattern"
)

// A cut is a place in markdown where what is above is whole: it is drawn the same whatever follows.
type cut struct {
	at    int    // 0: there is none
	carry string // what the part below must begin with: the line that opens its fence
	gap   bool   // an empty line is drawn between the two
}

// lastCut finds the last cut in a text. carry is the line that opens the fence which the text
// begins in, or "".
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

// A cutter goes through the lines of a text. It knows of markdown what it needs in order not to cut
// in the wrong place.
type cutter struct {
	at    int // the beginning of the line
	best  cut
	fence string // the mark that the open fence ends with; "": none is open
	open  string // the line that opened it, where it may be cut
	list  bool   // the lines are those of a list
	blank bool   // the line before was empty
	begun bool   // there was a line that is not empty
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
	within := item && s.list // the list goes on
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

// closing is how long the line is that ends the fence which text begins in; 0 where text begins
// otherwise.
func closing(carry, text string) int {
	s := cutter{}
	s.openFence(strings.TrimSuffix(carry, "\n"))
	line, _, whole := strings.Cut(text, "\n")
	if s.fence == "" || !whole || !s.closes(line) {
		return 0
	}
	return len(line) + 1
}

// closes tells whether a line ends the fence that is open.
func (s *cutter) closes(line string) bool {
	mark := strings.Trim(line, " ")
	return strings.HasPrefix(mark, s.fence) && strings.Trim(mark, s.fence[:1]) == ""
}

// inFence cuts behind each whole line of code. An empty line stays with the code below it.
func (s *cutter) inFence(line, text string) {
	switch {
	case !strings.HasSuffix(line, "\n"):
	case s.closes(text):
		s.fence, s.begun = "", true
		s.blank = s.open != "" // what follows a fence is a block of its own; one in a list is a part of its item
		s.list = s.list && s.open == ""
	case text != "" && s.open != "":
		s.best = cut{at: s.at + len(line), carry: s.open}
	}
}
