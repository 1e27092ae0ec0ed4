package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// A frame keeps the live part from getting shorter at once. Bubble Tea 2.0.9
// forgets which row the cursor is in when a frame has fewer rows than that: it
// then draws the new frame too low, and the top of the old one stays in the
// scrollback for ever. So a frame that is to get shorter keeps its height for a
// moment, empty lines below it (which look like no lines at all), until the
// cursor has been drawn in its new row; only then the empty lines go.
type frame struct {
	height   int  // that is drawn, empty lines and all
	needed   int  // of the last frame, without them
	peak     int  // the most that was needed since settling began
	settling bool // a settleMsg is on its way
}

// settleMsg comes twice: after a process that was held up, the first may come
// before the frame was drawn; the second is a whole settleAfter later.
type settleMsg struct{ last bool }

// settleAfter is some frames long; Bubble Tea draws 60 of them a second.
const settleAfter = 50 * time.Millisecond

// fit makes the lines of a frame as many as must be drawn.
func (f *frame) fit(lines []string) []string {
	f.needed = len(lines)
	f.peak = max(f.peak, f.needed)
	f.height = max(f.height, f.needed)
	for len(lines) < f.height {
		lines = append(lines, "")
	}
	return lines
}

// settle begins to make the frame shorter where it is taller than it needs to be.
func (f *frame) settle() tea.Cmd {
	if f.settling || f.height <= f.needed {
		return nil
	}
	f.settling, f.peak = true, f.needed
	return settleLater(false)
}

// settled makes the frame as short as all of those that were drawn meanwhile.
func (f *frame) settled(msg settleMsg) tea.Cmd {
	if !msg.last {
		return settleLater(true)
	}
	f.settling, f.height = false, f.peak
	return nil
}

func settleLater(last bool) tea.Cmd {
	return tea.Tick(settleAfter, func(time.Time) tea.Msg { return settleMsg{last} })
}
