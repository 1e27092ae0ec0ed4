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

// How much of a step's changes is shown before the rest is only counted: about one screen for a
// change, and no more than a few screens for a step.
const (
	maxChanges     = 12
	maxChangeLines = 40
)

// Changes draws differences below a heading, as a trace draws what a step changed.
func Changes(w io.Writer, all []hook.Change, o Options) error {
	var b strings.Builder
	for _, line := range o.changes(all, max(o.width()-len([]rune(stepIndent)), 20)) {
		fmt.Fprintln(&b, o.paint(StyleDim, stepIndent)+line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// changes draws what a step changed: for each place its path, then the old and the new value.
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

// trimEnds leaves out the empty line after the last line end, unless it is what changed.
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

// valueLines is a value as lines: a text as it is, anything else as JSON, on several lines where it
// has parts. An absent value has none.
func valueLines(raw json.RawMessage) []string {
	if raw == nil {
		return nil
	}
	if text, ok := rawjson.Unquote(raw); ok {
		return lines(text)
	}
	const oneLine = 60 // a list or object shorter than that is clearer unfolded on no lines at all
	if len(raw) <= oneLine {
		return []string{Line(string(raw))}
	}
	return strings.Split(Options{}.jsonText(raw), "\n")
}

// changedLine shows one line that became another: of long ones, the part that differs.
func (o Options) changedLine(old, new string, width int) []string {
	from := commonBytes(old, new)
	room := width - len("- ")
	return []string{
		o.diffLine(diffLine{'-', window(old, from, room)}, width),
		o.diffLine(diffLine{'+', window(new, from, room)}, width),
	}
}

// commonBytes is the length of what both begin with, in whole characters.
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

// window cuts a long line so that what stands at byte from is seen, with a little of what goes
// before it.
func window(line string, from, width int) string {
	const before = 20
	if len(line) <= width || from <= width/2 {
		return line // diffLine cuts its end
	}
	start := from - before
	for start > 0 && !utf8.RuneStart(line[start]) {
		start--
	}
	return "…" + line[max(start, 0):]
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

// TextDiff writes what became of a text, line by line, with a few lines around each change.
func TextDiff(w io.Writer, old, new string, o Options) error {
	for _, l := range lineDiff(splitLines(old), splitLines(new)) {
		l.text = Line(strings.ReplaceAll(l.text, "\t", strings.Repeat(" ", tabWidth)))
		if _, err := fmt.Fprintf(w, "  %s\n", o.diffLine(l, maxDiffWidth)); err != nil {
			return err
		}
	}
	return nil
}

// Changed is how many lines of a text are new, and how many are gone.
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

// maxDiffWidth bounds a line of a text that is shown.
const maxDiffWidth = 400

// splitLines is a text's lines without their ends; a text without any has none.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
