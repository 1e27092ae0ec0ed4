package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// An editedMsg is the message after the user's editor has ended.
type editedMsg struct {
	text string
	err  error
}

// openEditor opens the message in the user's editor, which uses the terminal meanwhile. A turn goes
// on in the background.
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

// edited puts the text into the input, without the newline that editors add to the end of a file.
// If editing failed, the input stays as it was.
func (s *screen) edited(msg editedMsg) {
	if msg.err != nil {
		s.printError(errorText(msg.err))
		return
	}
	s.input.set(strings.TrimRight(msg.text, "\r\n"))
	s.input.closed = true // edited text opens no menu
}
