package render

import (
	"cmp"
	"fmt"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
)

// Options say what the reader's screen can do. The zero value is plain text.
type Options struct {
	Color   bool // ANSI colours
	Width   int  // columns; 0: not known, or no screen
	Wire    bool // a trace shows what each plugin was sent and what it answered, a line each
	Verbose bool // … as many lines as they need

	Hooked []string // the plugins that hook an event's point, for an event about which none was asked
}

// defaultWidth is what text that has to end somewhere is cut to where there is no screen: a log or
// a file, read in an editor.
const defaultWidth = 100

func (o Options) width() int { return cmp.Or(o.Width, defaultWidth) }

// A Style is the parameter of an ANSI "select graphic rendition" sequence. Only the sixteen colours
// that every terminal's own theme defines are used, so that text stays readable on light and dark
// alike.
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

// Paint makes one line of foreign text fit to be shown, in a style where there are colours.
func (o Options) Paint(s Style, text string) string { return o.paint(s, Line(text)) }

// paint is Paint for text that is fit already.
func (o Options) paint(s Style, text string) string {
	if !o.Color || s == StylePlain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Bold is one line of text in bold type, where there are colours.
func Bold(text string, color bool) string { return Options{Color: color}.Paint(StyleBold, text) }

// verdictStyle is the colour of a verdict, the same wherever it is shown.
func verdictStyle(v hook.Verdict) Style {
	switch v {
	case hook.Deny:
		return StyleRed
	case hook.Stop, hook.Skip:
		return StyleYellow
	}
	return StyleGreen
}

// Duration is a time in three figures or so, in the unit that suits it.
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

// Count is a number with its noun: "1 plugin", "2 plugins".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
