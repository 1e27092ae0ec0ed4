package tui

import (
	"bytes"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// A canvas is the terminal that the programs of this package draw on. Finished lines go above the
// live part, into the terminal's own scrollback; the live part is redrawn in place.
type canvas interface {
	// draw adds finished lines above the live part and redraws the live part, in one step. A nil
	// cursor is hidden. A terminal that becomes lower then pushes no live line into the scrollback.
	draw(finished, live []string, cursor *tea.Cursor)
	// clear clears the screen. Lines above the live part move into the scrollback; nothing is lost.
	clear()
	// resize sets the terminal's new size. It returns a command that redraws everything when the
	// size no longer changes.
	resize(width, height int) tea.Cmd
	// release gives the terminal back, for another program or the shell. The next draw takes it
	// again.
	release()
	profile(colorprofile.Profile)
}

// A termCanvas is a canvas on a terminal. Bubble Tea's own renderer prints and redraws in separate
// steps, so that the prompt jumps and a tall frame is drawn twice; a termCanvas writes both at
// once. It belongs to Bubble Tea's loop.
type termCanvas struct {
	out    io.Writer
	colors colorprofile.Profile

	width, height int
	live          []string    // as drawn last
	cursor        *tea.Cursor // as drawn last
	row, col      int         // where the cursor is, from the top left of the live part
	taken         bool        // the modes below are set
	stale         bool        // the terminal no longer shows live

	drawn   int       // the width for which live was drawn
	resting time.Time // when the size counts as stable after a change
	waiting []string  // finished lines that wait until then

	size  func() (width, height int, err error) // asks the terminal; nil: out is not a terminal
	other time.Time                             // since when the terminal has a size that was not reported
}

func newTermCanvas(out io.Writer) *termCanvas {
	c := &termCanvas{out: out, colors: colorprofile.TrueColor, width: assumedWidth, height: assumedHeight}
	if file, ok := out.(term.File); ok && term.IsTerminal(file.Fd()) {
		c.size = func() (int, int, error) { return term.GetSize(file.Fd()) }
	}
	return c
}

// The modes of the terminal while we use it: they distinguish pastes from typing, and modified keys
// from plain ones.
const (
	takeModes = ansi.SetModeBracketedPaste + ansi.SetModifyOtherKeys2 + "\x1b[>1u"
	giveModes = ansi.ResetModeBracketedPaste + ansi.ResetModifyOtherKeys + "\x1b[<1u"
)

func (c *termCanvas) profile(p colorprofile.Profile) {
	c.stale = c.stale || c.colors != p
	c.colors = p
}

func (c *termCanvas) draw(finished, live []string, cursor *tea.Cursor) {
	if time.Now().Before(c.resting) || c.unreported() {
		c.waiting = append(c.waiting, finished...)
		return
	}
	c.paint(finished, live, cursor)
}

// paint draws at once, even if the size may still change.
func (c *termCanvas) paint(finished, live []string, cursor *tea.Cursor) {
	finished, c.waiting = append(c.waiting, finished...), nil
	live = live[max(len(live)-c.height, 0):]
	if c.taken && !c.stale && len(finished) == 0 && slices.Equal(live, c.live) && sameCursor(cursor, c.cursor) {
		return
	}
	var b bytes.Buffer
	b.WriteString(ansi.SetModeSynchronizedOutput + ansi.HideCursor)
	if !c.taken {
		b.WriteString(takeModes)
	}
	c.top(&b)
	c.lines(&b, finished, live)
	c.place(&b, len(live)-1, cursor)
	b.WriteString(ansi.ResetModeSynchronizedOutput)
	c.live, c.cursor, c.taken, c.stale, c.drawn = slices.Clone(live), cursor, true, false, c.width
	c.write(&b)
}

func sameCursor(a, b *tea.Cursor) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Position == b.Position
}

// top moves the cursor to the beginning of the live part.
func (c *termCanvas) top(b *bytes.Buffer) {
	b.WriteString("\r")
	if row := c.rowNow(); row > 0 {
		b.WriteString(ansi.CursorUp(row))
	}
	c.row, c.col = 0, 0
}

// rowNow returns the row of the cursor. If the terminal has become narrower, it has wrapped the
// lines that no longer fit, and the cursor has moved down with them.
func (c *termCanvas) rowNow() int {
	if c.width >= c.drawn {
		return c.row
	}
	width := max(c.width, 1)
	row := c.col/width + rowsAt(width, c.live[:min(c.row, len(c.live))])
	return min(row, max(c.height-1, 0))
}

// lines writes the finished lines and then the live ones. Without finished lines, it skips the
// first live lines if the screen shows them already. The cursor ends in the last line.
func (c *termCanvas) lines(b *bytes.Buffer, finished, live []string) {
	same := 0
	if len(finished) == 0 && !c.stale {
		for same < min(len(live), len(c.live))-1 && live[same] == c.live[same] {
			same++
		}
	}
	if same > 0 {
		b.WriteString(ansi.CursorDown(same))
	}
	for _, line := range finished {
		c.line(b, line)
		b.WriteString("\r\n")
	}
	// A terminal may draw some emoji wider than measured. A live line that wrapped would move the
	// lines below it away from where they are drawn next.
	b.WriteString(ansi.ResetModeAutoWrap)
	for i, line := range live[same:] {
		if i > 0 {
			b.WriteString("\r\n")
		}
		c.line(b, line)
	}
	b.WriteString(ansi.SetModeAutoWrap + ansi.EraseScreenBelow)
}

// line writes a line in the colours that the terminal supports, and erases the rest of the row. A
// line must be narrower than the screen: in a full row the cursor would stay on the last character,
// which would be erased too. line erases the whole row first, because a terminal may remember more
// of a row than it shows. tmux remembers the greatest length that a row has had. When the terminal
// becomes narrower, tmux wraps such a row and adds empty rows. A row also remembers that a resize
// has wrapped it, and the next resize would join it with the row above.
func (c *termCanvas) line(b *bytes.Buffer, line string) {
	b.WriteString(ansi.EraseEntireLine)
	w := colorprofile.Writer{Forward: b, Profile: c.colors}
	_, _ = w.WriteString(strings.TrimRight(line, " ")) // a buffer accepts everything
	b.WriteString(ansi.EraseLineRight)
}

// place moves the cursor from the last live line to its place; a hidden one to the first live line.
// A terminal that becomes lower keeps the row of its cursor. It first removes rows below, and then
// pushes rows above into the scrollback. So above a hidden cursor there must be no live line.
func (c *termCanvas) place(b *bytes.Buffer, last int, cursor *tea.Cursor) {
	var at tea.Position
	if cursor != nil {
		at = cursor.Position
	}
	b.WriteString("\r")
	c.row, c.col = max(last, 0), 0
	if up := c.row - at.Y; up > 0 {
		b.WriteString(ansi.CursorUp(up))
		c.row = at.Y
	}
	if at.X > 0 {
		b.WriteString(ansi.CursorForward(at.X))
		c.col = at.X
	}
	if cursor != nil {
		b.WriteString(ansi.ShowCursor)
	}
}

func (c *termCanvas) clear() {
	c.rest()
	var b bytes.Buffer
	c.top(&b)
	b.WriteString(ansi.EraseScreenBelow)
	// The cursor is in the first row of the live part. This many line feeds scroll the screen by
	// the number of rows above the cursor.
	b.WriteString(strings.Repeat("\n", max(c.height-1, 0)) + ansi.CursorHomePosition)
	c.live, c.stale = nil, true
	c.write(&b)
}

// restTime is how long nothing is drawn after the terminal's size has changed. A terminal wraps and
// joins lines before it reports its new size, and text drawn in between lands in wrong places. tmux
// reports every 250 ms while the user drags a border.
const restTime = 300 * time.Millisecond

// reportTime limits the wait for the report of a size that the terminal already has. A busy machine
// reports late.
const reportTime = 5 * time.Second

// unreported reports whether the terminal has a new size that resize will set soon. The terminal
// has then wrapped its lines already, so that the live part is no longer where it was drawn.
func (c *termCanvas) unreported() bool {
	if !c.taken || c.size == nil {
		return false
	}
	width, height, err := c.size()
	if err != nil || width <= 0 || height <= 0 || width == c.width && height == c.height { // 0: it does not know its size
		c.other = time.Time{}
		return false
	}
	if c.other.IsZero() {
		c.other = time.Now()
	}
	return time.Since(c.other) < reportTime
}

// A restedMsg redraws everything.
type restedMsg struct{}

func (c *termCanvas) resize(width, height int) tea.Cmd {
	changed := width != c.width || height != c.height
	c.width, c.height, c.stale = width, height, true
	if !changed || !c.taken {
		return nil
	}
	c.resting = time.Now().Add(restTime)
	return tea.Tick(restTime, func(time.Time) tea.Msg { return restedMsg{} })
}

// rest draws the waiting lines, even if the size may still change.
func (c *termCanvas) rest() {
	c.resting = time.Time{}
	if len(c.waiting) > 0 {
		c.paint(nil, c.live, c.cursor)
	}
}

func (c *termCanvas) release() {
	if !c.taken {
		return
	}
	c.rest()
	var b bytes.Buffer
	c.top(&b)
	b.WriteString(ansi.EraseScreenBelow + giveModes + ansi.ShowCursor)
	c.live, c.taken, c.stale = nil, false, true
	c.write(&b)
}

// write writes everything to the terminal at once. It ignores errors: if the terminal is gone, its
// input ends too, and that ends the program.
func (c *termCanvas) write(b *bytes.Buffer) { _, _ = c.out.Write(b.Bytes()) }

// A silent is the terminal that Bubble Tea gets. Bubble Tea may read its size and set it to raw
// mode, but the output of its renderer is discarded: a canvas draws instead.
type silent struct{ term.File }

func (silent) Write(p []byte) (int, error) { return len(p), nil }

// silenced returns an output for Bubble Tea that discards what is written: see [silent].
func silenced(out io.Writer) io.Writer {
	if file, ok := out.(term.File); ok {
		return silent{file}
	}
	return io.Discard
}

// releasing releases the terminal before Bubble Tea gives it to another program or to the shell.
// Bubble Tea does not export the type of the message that runs another program: see [execMessage].
func releasing(c canvas) func(tea.Model, tea.Msg) tea.Msg {
	return func(_ tea.Model, msg tea.Msg) tea.Msg {
		if _, suspended := msg.(tea.SuspendMsg); suspended || reflect.TypeOf(msg) == execMessage {
			c.release()
		}
		return msg
	}
}

// execMessage is the type of the message that runs a program.
var execMessage = reflect.TypeOf(tea.Exec(nil, nil)())
