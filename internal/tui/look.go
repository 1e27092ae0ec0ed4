package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/render"
)

// What the screen is taken for until the terminal has told its size.
const (
	assumedWidth  = 80
	assumedHeight = 24
)

// A look is what the terminal can show.
type look struct {
	color         bool
	width, height int
}

// cols is how wide a line may be: the last column stays free, for in it many terminals are
// undecided about where the next character goes.
func (l look) cols() int { return max(l.width-1, 10) }

// liveRoom is how tall the live part may be. A third of the screen stays with what is finished: a
// terminal that becomes lower pushes its upper rows into the scrollback, and rows of the live part
// would stay there.
func (l look) liveRoom() int { return max(l.height-l.height/3, 3) }

// paint makes one line of text fit to be shown, in a style.
func (l look) paint(s render.Style, text string) string { return l.options().Paint(s, text) }
func (l look) dim(text string) string                   { return l.paint(render.StyleDim, text) }
func (l look) bold(text string) string                  { return l.paint(render.StyleBold, text) }

func (l look) options() render.Options { return render.Options{Color: l.color, Width: l.cols()} }

// paintLines is foreign text of several lines, wrapped at width, in a style.
func (l look) paintLines(s render.Style, text string, width int) []string {
	lines := wrap(render.Block(text), width)
	for i := range lines {
		lines[i] = l.paint(s, lines[i])
	}
	return lines
}

// The marks that blocks begin with.
const (
	markUser  = "❯ "
	markReply = "● "
	markGood  = "✓ "
	markBad   = "✗ "
	markNote  = "· "
	gutter    = "  │ "
)

// spinnerFrames turn while something is going on.
var spinnerFrames = strings.Split("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "")

// tickEvery is how often the live part moves: as slow as still looks alive.
const tickEvery = 120 * time.Millisecond

// spinner is the frame for a moment, so that all that spins does so in step.
func spinner(elapsed time.Duration) string {
	return spinnerFrames[int(elapsed/tickEvery)%len(spinnerFrames)]
}

// clock is a time that a person waits: in whole seconds once there are some.
func clock(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
	return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
}

// thousands is a count in few figures: 950, 1.2k, 34k, 1.2M.
func thousands(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 10_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1_000_000)
}
