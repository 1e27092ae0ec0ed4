package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// editedMsg is what became of the message in the person's editor.
type editedMsg struct {
	text string
	err  error
}

// openEditor has the message edited in the person's editor, which has the terminal meanwhile. A
// turn goes on beside.
func (s *screen) openEditor() tea.Cmd {
	if s.edit == nil {
		s.printError("there is no editor here")
		return nil
	}
	var text string
	before := s.input.text()
	run := &execution{do: func() (err error) {
		text, err = s.edit(s.ctx, before)
		return err
	}}
	return tea.Exec(run, func(err error) tea.Msg { return editedMsg{text, err} })
}

// edited puts the text into the input. Editors end a file with a new line, which is none of the
// message's. A text that could not be edited stays as it was.
func (s *screen) edited(msg editedMsg) {
	if msg.err != nil {
		s.printError(errorText(msg.err))
		return
	}
	s.input.set(strings.TrimRight(msg.text, "\r\n"))
	s.input.closed = true // what was written elsewhere opens no menu
}
