package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// title returns the question in words.
func (q *question) title() string {
	switch {
	case q.tool.Plugin != "":
		return fmt.Sprintf("Run %s of %s?", q.tool.Name, q.tool.Plugin)
	case q.tool.Name == "shell":
		return "Run this command?"
	case q.tool.Name == "write_file":
		return "Write this file?"
	case q.tool.Name == "edit_file":
		return "Make this change?"
	}
	return fmt.Sprintf("Run %s?", q.tool.Name)
}

// keys says how to answer, in lines of at most width that break between the answers. cut: a part of
// the question is not shown.
func (q *question) keys(cut bool, width int) string {
	parts := []string{"y yes", "n, esc no", "i no, do this instead: …"}
	switch {
	case q.offer != nil && len(q.offer.Prefix) > 0:
		parts = append(parts, "p always `"+render.Line(q.offer.String())+"` in this project")
	case q.offer != nil:
		parts = append(parts, "p always exactly this command in this project")
	}
	parts = append(parts, "a always "+render.Line(q.tool.Name)+" in this session")
	if cut {
		parts = append(parts, "f show all of it")
	}
	return flow(parts, width)
}

// flow joins parts with dots, and begins a new line where the next part does not fit.
func flow(parts []string, width int) string {
	text, used := "", 0
	for i, part := range parts {
		switch w := ansi.StringWidth(part); {
		case i == 0:
			text, used = part, w
		case used+3+w > width:
			text, used = text+"\n"+part, w
		default:
			text, used = text+" · "+part, used+3+w
		}
	}
	return text
}

// briefKeys is like keys, for a small screen.
func (q *question) briefKeys() string {
	if q.offer != nil {
		return "y n i=instead p=project a=always f=show"
	}
	return "y n i=instead a=always f=show"
}

// questionKey answers the question that is shown.
func (s *screen) questionKey(msg tea.KeyPressMsg) tea.Cmd {
	q := s.questions[0]
	if q.instead != nil {
		return s.insteadKey(q, msg)
	}
	if !q.armed && s.typing() && msg.String() != "esc" { // Esc refuses, which does no harm
		return s.inputKey(msg)
	}
	q.armed = true
	switch msg.String() {
	case "y", "Y":
		s.answer(chat.Approval{Allowed: true})
	case "a", "A":
		s.always()
	case "p", "P":
		s.remember()
	case "n", "N", "esc":
		s.answer(chat.Approval{Reason: Refusal})
	case "i", "I":
		q.instead = newInputBox(s.look)
		q.instead.area.Placeholder = "What should be done instead?"
	case "f", "F":
		s.printQuestion(q)
	}
	return nil
}

// insteadKey handles a key in the text that says what to do instead.
func (s *screen) insteadKey(q *question, msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "esc":
		q.instead = nil
		return nil
	case "enter":
		if text := strings.TrimSpace(q.instead.text()); text != "" {
			s.printUser(text)
			s.answer(chat.Approval{Reason: Refusal + ", and says what to do instead: " + text})
		}
		return nil
	}
	return q.instead.update(msg)
}

// askLines draws the first question, and below it the text that says what to do instead, if that is
// open.
func (s *screen) askLines(room space) ([]string, *tea.Cursor) {
	q, l := s.questions[0], s.look
	if q.instead == nil {
		note := s.noteLines(q)
		return append(note, s.questionLines(room.without(note...))...), nil
	}
	q.instead.resize(l)
	area := strings.Split(q.instead.area.View(), "\n")
	hint := l.dim(render.Cut("  enter refuses and says this · esc back to the question", l.cols()))
	lines := append([]string{l.questionHead(q, len(s.questions))}, q.lines(l)...)
	lines = append(room.without(append(area, "", hint)...).first(lines), "")
	cursor := q.instead.area.Cursor()
	if cursor != nil {
		cursor.Y += len(lines)
	}
	return append(append(lines, area...), hint), cursor
}

// noteLines draws the remark beside the question.
func (s *screen) noteLines(q *question) []string {
	if q.note == "" {
		return nil
	}
	const most = 3 // lines: the question is more important
	return clip(s.look.paintLines(render.StyleYellow, q.note, s.look.cols()), most)
}
