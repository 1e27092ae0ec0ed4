package render

import (
	"cmp"
	"fmt"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
)

// Options say what the reader's screen can show, and how much of a trace is drawn. The zero value
// is plain text.
type Options struct {
	Color   bool // ANSI colours
	Width   int  // columns; 0: unknown, or no screen
	Wire    bool // a trace shows what each plugin was sent and what it answered, each on one line
	Verbose bool // a trace shows these messages whole

	Hooked []string // the plugins that hook the event's point; shown if none of them was called
}

// defaultWidth is the width of text without a screen, such as a log or a file.
const defaultWidth = 100

func (o Options) width() int { return cmp.Or(o.Width, defaultWidth) }

// A Style is the parameter of an ANSI "select graphic rendition" sequence. Only the sixteen colours
// of the terminal's theme are used, so that text is readable on light and dark backgrounds.
type Style string

// The styles.
const (
	StylePlain  Style = ""
	StyleBold   Style = "1"
	StyleDim    Style = "2"
	StyleRed    Style = "31"
	StyleGreen  Style = "32"
	StyleYellow Style = "33"
	StyleBlue   Style = "34"
	StyleCyan   Style = "36"
)

// Paint makes one line of foreign text safe for a terminal, and styles it if there are colours.
func (o Options) Paint(s Style, text string) string { return o.paint(s, Line(text)) }

// paint styles text that is already safe.
func (o Options) paint(s Style, text string) string {
	if !o.Color || s == StylePlain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Bold returns one line of text in bold type, if color is set.
func Bold(text string, color bool) string { return Options{Color: color}.Paint(StyleBold, text) }

// verdictStyle returns the colour of a verdict.
func verdictStyle(v hook.Verdict) Style {
	switch v {
	case hook.Deny:
		return StyleRed
	case hook.Stop, hook.Skip:
		return StyleYellow
	}
	return StyleGreen
}

// Duration returns a duration with about three digits, in a suitable unit.
func Duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.2f ms", milliseconds(d))
	case d < time.Second:
		return fmt.Sprintf("%.1f ms", milliseconds(d))
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Count returns a number with its noun: "1 plugin", "2 plugins".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
