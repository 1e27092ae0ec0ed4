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

// A canvas is the terminal as a program of this package draws on it. Finished lines go above the
// live part, into the terminal's own scrollback; the live part is drawn over itself.
type canvas interface {
	// draw puts finished lines above the live part and draws the live part anew, both in one step.
	// A nil cursor is hidden.
	draw(finished, live []string, cursor *tea.Cursor)
	// clear empties the screen. What stood above the live part moves into the scrollback; nothing
	// is lost.
	clear()
	// resize takes the terminal's new size. What it returns has everything drawn when the terminal
	// is at rest.
	resize(width, height int) tea.Cmd
	// release gives the terminal back to whoever uses it next. The next draw takes it again.
	release()
	profile(colorprofile.Profile)
}

// A termCanvas is a canvas on a terminal. Bubble Tea's own renderer prints and redraws in separate
// steps, so the prompt jumps and a tall frame is drawn twice; a termCanvas writes both at once. It
// belongs to Bubble Tea's loop.
type termCanvas struct {
	out    io.Writer
	colors colorprofile.Profile

	width, height int
	live          []string    // as drawn last
	cursor        *tea.Cursor // as drawn last
	row, col      int         // where the terminal's cursor was put, from the top left of the live part
	taken         bool        // the modes below are set
	stale         bool        // live no longer says what the terminal shows

	drawn   int       // the columns that live was drawn for
	resting time.Time // when the terminal is taken to be at rest after a change of its size
	waiting []string  // finished lines that wait for it
}

func newTermCanvas(out io.Writer) *termCanvas {
	return &termCanvas{out: out, colors: colorprofile.TrueColor, width: assumedWidth, height: assumedHeight}
}

// The modes of the terminal while it is ours: pastes are told from typing, and modified keys from
// plain ones.
const (
	takeModes = ansi.SetModeBracketedPaste + ansi.SetModifyOtherKeys2 + "\x1b[>1u"
	giveModes = ansi.ResetModeBracketedPaste + ansi.ResetModifyOtherKeys + "\x1b[<1u"
)

func (c *termCanvas) profile(p colorprofile.Profile) {
	c.stale = c.stale || c.colors != p
	c.colors = p
}

func (c *termCanvas) draw(finished, live []string, cursor *tea.Cursor) {
	if time.Now().Before(c.resting) {
		c.waiting = append(c.waiting, finished...)
		return
	}
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

// rowNow is the row of the cursor. A terminal that has become narrower has broken the lines that no
// longer fit, and the cursor has moved down with them.
func (c *termCanvas) rowNow() int {
	if c.width >= c.drawn {
		return c.row
	}
	width := max(c.width, 1)
	row := c.col / width
	for _, line := range c.live[:min(c.row, len(c.live))] {
		row += max((ansi.StringWidth(strings.TrimRight(line, " "))+width-1)/width, 1)
	}
	return min(row, max(c.height-1, 0))
}

// lines writes finished lines and then the live ones, from the first that is not on the screen
// already. The cursor ends in the last line.
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
	for i, line := range live[same:] {
		if i > 0 {
			b.WriteString("\r\n")
		}
		c.line(b, line)
	}
	b.WriteString(ansi.EraseScreenBelow)
}

// line writes a line in the colours that the terminal has. Lines are shorter than the screen is
// wide, so that the cursor is behind the last character when the rest is erased. A row that a
// resize broke off the row above remembers that, and would be joined to it again by the next one:
// an empty row does not.
func (c *termCanvas) line(b *bytes.Buffer, line string) {
	if c.stale {
		b.WriteString(ansi.EraseEntireLine)
	}
	w := colorprofile.Writer{Forward: b, Profile: c.colors}
	_, _ = w.WriteString(strings.TrimRight(line, " ")) // a buffer takes all
	b.WriteString(ansi.EraseLineRight)
}

// place moves the cursor from the last live line to where it is to be seen.
func (c *termCanvas) place(b *bytes.Buffer, last int, cursor *tea.Cursor) {
	b.WriteString("\r")
	c.row, c.col = max(last, 0), 0
	if cursor == nil {
		return
	}
	if up := c.row - cursor.Y; up > 0 {
		b.WriteString(ansi.CursorUp(up))
		c.row = cursor.Y
	}
	if cursor.X > 0 {
		b.WriteString(ansi.CursorForward(cursor.X))
		c.col = cursor.X
	}
	b.WriteString(ansi.ShowCursor)
}

func (c *termCanvas) clear() {
	c.rest()
	var b bytes.Buffer
	c.top(&b)
	b.WriteString(ansi.EraseScreenBelow)
	// From the first row of the live part, so many line feeds scroll exactly what is above it.
	b.WriteString(strings.Repeat("\n", max(c.height-1, 0)) + ansi.CursorHomePosition)
	c.live, c.stale = nil, true
	c.write(&b)
}

// restTime is how long nothing is drawn after the terminal's size has changed. A terminal breaks
// and joins lines before it tells of its new size, and what is drawn in between goes astray. tmux
// tells of it every 250 ms while somebody drags a border.
const restTime = 300 * time.Millisecond

// restedMsg has everything drawn again.
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

// rest draws what waits, though the terminal may not be at rest.
func (c *termCanvas) rest() {
	c.resting = time.Time{}
	if len(c.waiting) > 0 {
		c.draw(nil, c.live, c.cursor)
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

// write hands everything to the terminal at once. A terminal that is gone ends the program by its
// input.
func (c *termCanvas) write(b *bytes.Buffer) { _, _ = c.out.Write(b.Bytes()) }

// A silent is the terminal as Bubble Tea gets it: it may ask for its size and set it to raw mode,
// but what its renderer writes goes nowhere. A canvas draws instead.
type silent struct{ term.File }

func (silent) Write(p []byte) (int, error) { return len(p), nil }

// silenced is out for Bubble Tea.
func silenced(out io.Writer) io.Writer {
	if file, ok := out.(term.File); ok {
		return silent{file}
	}
	return io.Discard
}

// releasing lets go of the terminal before Bubble Tea gives it to another program, or to the shell.
// The type of the message before a program is run is Bubble Tea's own.
func releasing(c canvas) func(tea.Model, tea.Msg) tea.Msg {
	return func(_ tea.Model, msg tea.Msg) tea.Msg {
		if _, suspended := msg.(tea.SuspendMsg); suspended || reflect.TypeOf(msg) == execMessage {
			c.release()
		}
		return msg
	}
}

// execMessage is the type of the message that has a program run.
var execMessage = reflect.TypeOf(tea.Exec(nil, nil)())
