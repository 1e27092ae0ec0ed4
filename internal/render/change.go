package render

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// Limits of the changes that are shown; the rest is only counted. One change fills at most about
// one screen, and all changes of a step fill a few screens.
const (
	maxChanges     = 12
	maxChangeLines = 40
)

// Changes draws differences below a heading, as a trace draws the changes of a step.
func Changes(w io.Writer, all []hook.Change, o Options) error {
	var b strings.Builder
	for _, line := range o.changes(all, max(o.width()-len([]rune(stepIndent)), 20)) {
		fmt.Fprintln(&b, o.paint(StyleDim, stepIndent)+line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// changes draws the changes of a step: for each place its path, then the old and the new value.
func (o Options) changes(all []hook.Change, width int) []string {
	var out []string
	for i, c := range all {
		if i == maxChanges {
			return append(out, o.paint(StyleDim, "… and "+Count(len(all)-i, "more change")))
		}
		out = append(out, o.Paint(StyleCyan, Cut(Line(c.Path), width)))
		out = append(out, o.change(c, width)...)
	}
	return out
}

func (o Options) change(c hook.Change, width int) []string {
	old, new := trimEnds(valueLines(c.Old), valueLines(c.New))
	if len(old) == 1 && len(new) == 1 {
		return o.changedLine(old[0], new[0], width)
	}
	diff := lineDiff(old, new)
	shown := diff[:min(len(diff), maxChangeLines)]
	var out []string
	for _, l := range shown {
		out = append(out, o.diffLine(l, width))
	}
	if rest := len(diff) - len(shown); rest > 0 {
		out = append(out, o.paint(StyleDim, "… and "+Count(rest, "more line")))
	}
	return out
}

// trimEnds removes the empty line after the last line end, unless only that line differs.
func trimEnds(old, new []string) ([]string, []string) {
	shortOld, shortNew := trimEnd(old), trimEnd(new)
	if slices.Equal(shortOld, shortNew) {
		return old, new
	}
	return shortOld, shortNew
}

func trimEnd(lines []string) []string {
	if last := len(lines) - 1; last > 0 && lines[last] == "" {
		return lines[:last]
	}
	return lines
}

// valueLines returns a value as lines: a text unchanged, anything else as JSON, on several lines if
// it is long. An absent value has no lines.
func valueLines(raw json.RawMessage) []string {
	if raw == nil {
		return nil
	}
	if text, ok := rawjson.Unquote(raw); ok {
		return lines(text)
	}
	const oneLine = 60 // a shorter list or object is clearer on one line
	if len(raw) <= oneLine {
		return []string{Line(string(raw))}
	}
	return strings.Split(Options{}.jsonText(raw), "\n")
}

// changedLine shows the old and the new text of a line. If they are long, it shows the part that
// differs.
func (o Options) changedLine(old, new string, width int) []string {
	from := commonBytes(old, new)
	room := width - len("- ")
	return []string{
		o.diffLine(diffLine{'-', window(old, from, room)}, width),
		o.diffLine(diffLine{'+', window(new, from, room)}, width),
	}
}

// commonBytes returns the length of the common beginning of two texts, in whole characters.
func commonBytes(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return n
}

// window cuts the beginning of a long line, so that the byte line[from] is visible, with a little
// text before it.
func window(line string, from, width int) string {
	const before = 20
	if len(line) <= width || from <= width/2 {
		return line // diffLine cuts the end
	}
	start := from - before
	for start > 0 && !utf8.RuneStart(line[start]) {
		start--
	}
	if start <= 0 {
		return line
	}
	return "…" + line[start:]
}

func (o Options) diffLine(l diffLine, width int) string {
	if l.sign == gap {
		return o.paint(StyleDim, "⋮")
	}
	return o.paint(signStyle(l.sign), Cut(fmt.Sprintf("%c %s", l.sign, l.text), width))
}

func signStyle(sign byte) Style {
	switch sign {
	case '-':
		return StyleRed
	case '+':
		return StyleGreen
	}
	return StyleDim
}

// TextDiff writes the changes of a text line by line, with a few lines around each change.
func TextDiff(w io.Writer, old, new string, o Options) error {
	for _, l := range lineDiff(splitLines(old), splitLines(new)) {
		l.text = Line(strings.ReplaceAll(l.text, "\t", strings.Repeat(" ", tabWidth)))
		if _, err := fmt.Fprintf(w, "  %s\n", o.diffLine(l, maxDiffWidth)); err != nil {
			return err
		}
	}
	return nil
}

// Changed returns how many lines of a text are new, and how many are gone.
func Changed(old, new string) (added, removed int) {
	for _, l := range allLines(splitLines(old), splitLines(new)) {
		switch l.sign {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}

// maxDiffWidth limits the width of a line in a diff.
const maxDiffWidth = 400

// splitLines returns the lines of a text without their ends. An empty text has none.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
