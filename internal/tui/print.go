package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/patchbay-dev/patchbay/internal/render"
)

// A blockKind is what a finished block of the scrollback is: blocks of
// different kinds have an empty line between them.
type blockKind int

const (
	blockNone blockKind = iota
	blockUser
	blockReply
	blockTool
	blockNote
	blockApart // what comes next has an empty line before it, whatever it is
)

// A printer puts finished lines into the terminal's scrollback, in the order in
// which they were finished. Commands run side by side, so that no second print
// is begun before the first is known to be done.
type printer struct {
	queue []string
	busy  bool // a print is on its way
	last  blockKind
}

// printedMsg says that the print on its way has arrived.
type printedMsg struct{}

// add queues a block.
func (p *printer) add(kind blockKind, lines []string) {
	if len(lines) == 0 {
		return
	}
	if p.last != blockNone && (p.last != kind || kind == blockUser || kind == blockReply) {
		p.queue = append(p.queue, " ") // a print of nothing at all would be dropped
	}
	p.last = kind
	p.queue = append(p.queue, lines...)
}

// apart makes the next block one of its own.
func (p *printer) apart() {
	if p.last != blockNone {
		p.last = blockApart
	}
}

// next is the command that prints what is queued, as much as there is room for;
// nil where there is nothing to do. Bubble Tea makes place for what is printed by
// scrolling the live part up; where both together are taller than the screen,
// the live part would be scrolled out of it and stay in the scrollback for ever.
func (p *printer) next(l look) tea.Cmd {
	if p.busy || len(p.queue) == 0 {
		return nil
	}
	lines := p.queue[:min(l.printRoom(), len(p.queue))]
	p.queue = p.queue[len(lines):]
	p.busy = true
	for i := range lines {
		lines[i] = render.Cut(lines[i], l.cols())
	}
	text := strings.Join(lines, "\n")
	return tea.Sequence(tea.Println(text), func() tea.Msg { return printedMsg{} })
}

// empty tells whether all has been printed.
func (p *printer) empty() bool { return !p.busy && len(p.queue) == 0 }

// wrap breaks text, which may be styled, into lines of at most width columns.
func wrap(text string, width int) []string {
	return strings.Split(ansi.Wrap(text, max(width, 1), ""), "\n")
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
