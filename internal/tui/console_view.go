package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/patchbay-dev/patchbay/internal/render"
)

// View implements [tea.Model]. Bubble Tea draws nothing: see [canvas].
func (s *consoleScreen) View() tea.View { return tea.View{} }

// frame draws the open choice, the running function, the status and the keys.
func (s *consoleScreen) frame() ([]string, *tea.Cursor) {
	if !s.ready || s.leaving {
		return nil, nil // nothing stays on the screen
	}
	lines := []string{""}
	if m := s.menu; m != nil {
		lines = append(lines, s.menuLines(m, s.look.liveSpace().without("", "", "", ""))...)
	}
	if busy := s.console.Busy(); busy != "" && !s.since.IsZero() {
		lines = append(lines, s.look.working(busy, time.Since(s.since), ""))
	}
	lines = append(lines, s.console.Status(), s.keyLine())
	for i := range lines {
		lines[i] = render.Cut(lines[i], s.look.cols())
	}
	return lines, nil
}

// menuLines draws as many of the choices as there is room for, the chosen one among them.
func (s *consoleScreen) menuLines(m *consoleMenu, room space) []string {
	var out []string
	for i := range m.labels {
		number := "  "
		if i < 9 {
			number = string(rune('1'+i)) + " "
		}
		if i == m.at {
			out = append(out, s.look.paint(render.StyleCyan, "❯ "+number+m.labels[i]))
		} else {
			out = append(out, "  "+s.look.dim(number)+render.Line(m.labels[i]))
		}
	}
	rows := room.count(out)
	first := max(0, min(m.at-rows/2, len(out)-rows))
	return out[first:min(first+rows, len(out))]
}

// keyLine lists the keys that fit.
func (s *consoleScreen) keyLine() string {
	if s.menu != nil {
		return s.look.dim("enter sends · ↑ ↓ or a number chooses · esc goes back")
	}
	line := ""
	for _, k := range s.console.Keys {
		part := k.Key + " " + k.Label
		if k.Label == "" || ansi.StringWidth(line)+3+len(part) > s.look.cols() {
			continue
		}
		line += " · " + part
	}
	return s.look.dim(strings.TrimPrefix(line, " · "))
}
