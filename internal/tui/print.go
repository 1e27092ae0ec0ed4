package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/patchbay-dev/patchbay/internal/render"
)

// A blockKind is the kind of a finished block in the scrollback. Blocks of different kinds have an
// empty line between them.
type blockKind int

const (
	blockNone blockKind = iota
	blockUser
	blockReply
	blockMore // more of the reply above
	blockTool
	blockNote
	blockApart // an empty line before the next block, whatever it is
)

// A printer collects finished lines for the terminal's scrollback, in the order in which they were
// finished.
type printer struct {
	queue []string
	last  blockKind
}

// add queues a block.
func (p *printer) add(kind blockKind, lines []string) {
	if len(lines) == 0 {
		return
	}
	if kind == blockMore {
		kind = blockReply
		if !p.within() && lines[0] != "" {
			p.queue = append(p.queue, "")
		}
	} else if p.last != blockNone && (p.last != kind || kind == blockUser || kind == blockReply) {
		p.queue = append(p.queue, "")
	}
	p.last = kind
	p.queue = append(p.queue, lines...)
}

// within reports whether the last block is part of a reply: more of the reply continues it.
func (p *printer) within() bool { return p.last == blockReply }

// apart separates the next block from the one before.
func (p *printer) apart() {
	if p.last != blockNone {
		p.last = blockApart
	}
}

// take returns the queued lines, cut to the width of the screen.
func (p *printer) take(l look) []string {
	lines := p.queue
	p.queue = nil
	for i := range lines {
		lines[i] = render.Cut(lines[i], l.cols())
	}
	return lines
}

// wrap breaks text, which may be styled, into lines of at most width columns. It breaks at spaces,
// and not after hyphens as ansi.Wrap does: names and options must stay whole to be copied.
func wrap(text string, width int) []string {
	hyphen := rune(0xE000) // replaces a hyphen: a character for private use that the text does not have
	for strings.ContainsRune(text, hyphen) {
		hyphen++
	}
	wrapped := ansi.Wrap(strings.ReplaceAll(text, "-", string(hyphen)), max(width, 1), "")
	return strings.Split(strings.ReplaceAll(wrapped, string(hyphen), "-"), "\n")
}

// hang puts a mark before the first line, and its width in spaces before the others.
func hang(mark string, lines []string) []string {
	out := make([]string, len(lines))
	rest := strings.Repeat(" ", ansi.StringWidth(mark))
	for i, line := range lines {
		if i == 0 {
			out[i] = mark + line
		} else if line != "" {
			out[i] = rest + line
		}
	}
	return out
}
