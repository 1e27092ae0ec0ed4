package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/render"
)

// The size of the screen until the terminal has reported its own.
const (
	assumedWidth  = 80
	assumedHeight = 24
)

// A look describes what the terminal can show.
type look struct {
	color         bool
	width, height int
}

// cols returns how wide a line may be. The last column stays free, because terminals disagree about
// where the next character goes after it.
func (l look) cols() int { return max(l.width-1, 10) }

// paint returns one line of text in a style, safe to be shown.
func (l look) paint(s render.Style, text string) string { return l.options().Paint(s, text) }
func (l look) dim(text string) string                   { return l.paint(render.StyleDim, text) }
func (l look) bold(text string) string                  { return l.paint(render.StyleBold, text) }

func (l look) options() render.Options { return render.Options{Color: l.color, Width: l.cols()} }

// paintLines returns foreign text of several lines in a style, wrapped at width.
func (l look) paintLines(s render.Style, text string, width int) []string {
	lines := wrap(render.Block(text), width)
	for i := range lines {
		lines[i] = l.paint(s, lines[i])
	}
	return lines
}

// The marks at the beginning of blocks.
const (
	markUser  = "❯ "
	markReply = "● "
	markGood  = "✓ "
	markBad   = "✗ "
	markNote  = "· "
	gutter    = "  │ "
)

// spinnerFrames are shown in turn while something runs.
var spinnerFrames = strings.Split("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "")

// tickEvery is how often the live part is redrawn: as slow as an animation may be.
const tickEvery = 120 * time.Millisecond

// spinner returns the frame for a moment, so that all spinners turn together.
func spinner(elapsed time.Duration) string {
	return spinnerFrames[int(elapsed/tickEvery)%len(spinnerFrames)]
}

// clock returns a waiting time: in tenths of a second up to ten seconds, and then in whole seconds.
func clock(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
	return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
}

// thousands returns a count in few digits: 950, 1.2k, 34k, 1.2M.
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
