package tui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// frame draws the live part of the screen, and returns the place of the cursor in it. The parts
// that must be visible (the question, the input, the status) are laid out first; the others get the
// remaining rows.
func (s *screen) frame() ([]string, *tea.Cursor) {
	switch {
	case !s.ready, s.leaving && s.turn == nil && s.busy == "":
		return nil, nil // nothing stays on the screen
	case s.leaving:
		return []string{"", s.look.dim("ending what is still running …")}, nil
	}
	bottom, cursor := s.bottom()
	above := s.live(s.look.liveSpace().without(bottom...))
	if cursor != nil {
		cursor.Y += len(above)
	}
	lines := append(above, bottom...)
	for i := range lines {
		lines[i] = render.Cut(lines[i], s.look.cols())
	}
	if cursor != nil && s.drawsCursor(cursor.Y) {
		lines[cursor.Y] = drawCursor(lines[cursor.Y], cursor.X)
		cursor = nil
	}
	return lines, cursor
}

// aboveCursor is how many live lines there may be above the terminal's own cursor: a small screen.
const aboveCursor = 10

// drawsCursor reports whether the cursor, in this line of the live part, is drawn, and the
// terminal's own is hidden. A terminal that becomes lower keeps its own cursor on the screen, and
// pushes rows above it into the scrollback. A canvas keeps a hidden cursor above the live part. The
// terminal's own cursor is better where the user writes, because input methods open their windows
// beside it.
func (s *screen) drawsCursor(line int) bool {
	return line > aboveCursor || (s.turn != nil || s.busy != "") && len(s.questions) == 0 && s.input.value() == ""
}

// drawCursor draws a cursor over the character in a column of a line.
func drawCursor(line string, column int) string {
	line = padded(line, column+1)
	_, width, _, _ := ansi.DecodeSequence(ansi.Strip(ansi.TruncateLeft(line, column, "")), 0, nil)
	return lipgloss.StyleRanges(line, lipgloss.NewRange(column, column+max(width, 1), lipgloss.NewStyle().Reverse(true)))
}

// clearScreen clears the screen. The conversation goes on and stays in the scrollback.
func (s *screen) clearScreen(string) tea.Cmd {
	live, cursor := s.frame()
	s.canvas.draw(s.printer.take(s.look), live, cursor) // finished lines go into the scrollback too
	s.canvas.clear()
	s.printer.last = blockNone
	return nil
}

// bottom draws the parts that must be visible, and returns the place of the cursor in them.
func (s *screen) bottom() ([]string, *tea.Cursor) {
	room := s.look.liveSpace()
	switch {
	case len(s.questions) > 0:
		return s.askLines(room.without(""))
	case s.picker != nil:
		return s.picker.lines(s.look, room.without("")), nil // the live part above ends with an empty line
	case s.wizard != nil:
		return room.first(s.wizard.lines(s.look)), nil
	}
	return s.inputLines()
}

// inputLines draws the input between two rules, the menu, and the status.
func (s *screen) inputLines() ([]string, *tea.Cursor) {
	l := s.look
	rule := l.dim(strings.Repeat("─", l.cols()))
	out := append(s.queuedLines(), rule)
	cursor := s.input.area.Cursor()
	if cursor != nil {
		cursor.Y += len(out)
	}
	out = append(out, strings.Split(s.input.area.View(), "\n")...)
	out = append(out, rule)
	if s.input.find != nil {
		return append(out, s.searchLine()), cursor
	}
	if menu := s.input.menu(); len(menu) > 0 {
		hint := l.dim(render.Cut(menuHint(menu), l.cols()))
		out = append(out, l.menuLines(menu, s.input.chosen, l.liveSpace().without(append(out, hint)...))...)
		return clip(append(out, hint), l.liveRoom()), cursor
	}
	return append(out, s.status()), cursor
}

// queuedLines draws the messages that wait for the turn to end.
func (s *screen) queuedLines() []string {
	const shown, need = 2, 10 // messages that are named, on a screen with at least this many live rows
	if s.look.liveRoom() < need {
		return nil
	}
	var out []string
	for _, text := range s.queued {
		first, _, more := strings.Cut(text, "\n")
		if more {
			first += " …"
		}
		out = append(out, s.look.dim(render.Cut("  queued: "+render.Line(first), s.look.cols())))
	}
	return out[max(len(out)-shown, 0):]
}

// live draws what is running: the current reply, tools, what the turn waits for. Of a long reply it
// draws the end.
func (s *screen) live(room space) []string {
	var text []string
	rest := []string{""} // between the printed and the live lines
	if t := s.turn; t != nil {
		text, rest = t.stream.draw(s.look), append(rest, s.workLines(t)...)
		// Before a part that continues the reply above, stream.draw has added the empty line if one
		// is needed.
		if len(text) > 0 && text[0] != "" && (t.stream.scrolled == "" || !s.printer.within()) {
			text = append([]string{""}, text...)
		}
	} else if s.busy != "" {
		rest = append(rest, s.look.working(s.busy, time.Since(s.busySince), ""))
		if s.running != nil {
			rest = append(rest, s.running.lines(s.look)...)
		}
	}
	if len(s.questions) > 0 && len(rest) == 2 {
		rest = rest[:1] // no tool runs: one empty line is enough
	}
	rest = room.first(rest)
	text = room.without(rest...).last(text)
	return append(text[:len(text):len(text)], rest...)
}

// workLines draws the running tools, and how long the turn has taken.
func (s *screen) workLines(t *turn) []string {
	var out []string
	const many = 4 // with this many tools at once, each gets one line
	output := runningLines
	if len(t.tools) >= many {
		output = 0
	}
	for _, r := range t.tools {
		out = append(out, r.lines(s.look, output)...)
	}
	if len(s.questions) > 0 {
		return append(out, "") // it waits for the user
	}
	return append(out, s.look.working(t.doing(), t.clock.elapsed(), ""))
}

// doing says what a turn waits for.
func (t *turn) doing() string {
	switch {
	case t.interrupted:
		return "interrupting"
	case t.retry != "":
		return "trying again: " + t.retry
	}
	if plugin := SlowPlugin(&t.calls); plugin != "" {
		return plugin
	}
	switch {
	case len(t.tools) > 0:
		return "running " + render.Count(len(t.tools), "tool")
	case t.reply != nil:
		return "finishing"
	case t.held > 0:
		return "answering: " + thousands(t.held) + " characters, shown once plugins have seen them"
	case t.stream.scrolled != "" || len(t.stream.text) > 0:
		return "answering"
	}
	return "thinking"
}

// slowCall is how long a call to a plugin takes before the plugin is named.
const slowCall = time.Second

// SlowPlugin says which plugin has not answered for a second, or returns "".
func SlowPlugin(calls *hook.Calls) string {
	call, ok := calls.Oldest()
	if !ok || time.Since(call.Began) < slowCall {
		return ""
	}
	return "waiting for " + render.Line(call.Plugin) + " (" + string(call.Point) + ")"
}

// working draws a line for something that takes time: what it is, how long it has taken, and how to
// end it if there is room. Below an input there is no hint: the line under the input says what Esc
// does now, which may be to close a menu.
func (l look) working(what string, elapsed time.Duration, hint string) string {
	took := clock(elapsed)
	what = render.Cut(render.Line(what), max(l.cols()-len(took)-2*len(gap), 1))
	line := l.paint(render.StyleCyan, spinner(elapsed)) + " " + what + gap + l.dim(took)
	if ansi.StringWidth(line)+len(gap)+len(hint) <= l.cols() {
		line += gap + l.dim(hint)
	}
	return line
}

// status draws the line below the input. Its parts are in the order of importance: in a narrow
// terminal the last are left out.
func (s *screen) status() string {
	hint := s.hint()
	parts := []string{modelName(s.talk.Model()), s.context.status(s.talk.Model().Window), pluginCount(s.plugins), s.talk.Session().ID}
	line, width := "", ansi.StringWidth(hint)
	for _, part := range parts {
		longer := line + " · " + part
		if part != "" && ansi.StringWidth(longer)+width+1 <= s.look.cols() { // the terminal may draw it wider than measured
			line = longer
		}
	}
	line = render.Cut("  "+strings.TrimPrefix(line, " · "), s.look.cols()-width-1)
	space := s.look.cols() - ansi.StringWidth(line) - width
	return s.look.dim(line + strings.Repeat(" ", max(space, 1)) + hint)
}

// hint names the keys that end something now.
func (s *screen) hint() string {
	typed := s.input.value() != ""
	switch {
	case s.turn != nil && s.turn.interrupted && s.mayLeave():
		return "ctrl+c leaves"
	case s.turn != nil && s.turn.interrupted:
		return ""
	case (s.turn != nil || s.busy != "") && typed:
		return "enter queues · esc interrupts"
	case s.turn != nil || s.busy != "":
		return "esc interrupts"
	case typed:
		return "ctrl+c clears"
	}
	if !s.mayLeave() {
		return "/help"
	}
	return "/help · ctrl+c leaves"
}

func modelName(i model.Info) string {
	switch {
	case i.Offline:
		return "offline model"
	case i.Name == "":
		return render.Line(i.Provider)
	}
	return render.Line(i.Provider + ":" + i.Name)
}

// pluginCount returns how many plugins are loaded, and how many are broken.
func pluginCount(rows []PluginRow) string {
	ready := 0
	for _, r := range rows {
		if r.State == stateReady {
			ready++
		}
	}
	if broken := len(broken(rows)); broken > 0 {
		return fmt.Sprintf("%s, %d broken", render.Count(ready, "plugin"), broken)
	}
	return render.Count(ready, "plugin")
}

// broken returns the names of the plugins that should take part and cannot.
func broken(rows []PluginRow) []string {
	var names []string
	for _, r := range rows {
		if r.State != stateReady && r.State != StateLeftOut && r.Error != "" {
			names = append(names, r.Name)
		}
	}
	return names
}

func usageText(u model.Usage) string {
	if u.Input+u.Output == 0 {
		return ""
	}
	return thousands(u.Input+u.Output) + " tokens"
}
