package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

const (
	// leavePause is the time after the end of something in which Ctrl-C does not leave the program.
	// The user may have meant it for a turn that just ended, or may have pressed it twice.
	leavePause = time.Second
	// typingPause is how long the user must have stopped typing before a key answers a question. A
	// question that appears while the user types a y must not be answered by it.
	typingPause = 700 * time.Millisecond
)

// key passes a key to its target. A question or form gets it before the input.
func (s *screen) key(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "ctrl+c":
		return s.controlC()
	case "ctrl+z":
		return tea.Suspend
	case "ctrl+l":
		return s.clearScreen("")
	}
	switch {
	case len(s.questions) > 0:
		return s.questionKey(msg)
	case s.picker != nil:
		return s.pickerKey(msg)
	case s.wizard != nil:
		return s.wizardKey(msg)
	}
	return s.inputKey(msg)
}

// controlC ends the nearest thing: what is running, a form, the input, or else the program.
func (s *screen) controlC() tea.Cmd {
	switch {
	case len(s.questions) > 0 && s.questions[0].instead != nil:
		s.questions[0].instead = nil
		return nil
	case s.input.find != nil:
		s.input.leaveSearch()
		return nil
	case s.leaving: // the running call takes too long to end; Run waits for it for a limited time
		return tea.Quit
	case s.interrupt():
	case s.picker != nil:
		s.picker, s.ended = nil, time.Now()
		return tea.Batch(s.startTicking(), s.sendQueued())
	case s.wizard != nil:
		s.ended = time.Now()
		return tea.Batch(s.closeWizard("no plugin was written"), s.startTicking())
	case s.turn == nil && s.input.value() != "":
		s.ended = time.Now()
		s.input.past.add(s.input.text()) // the up arrow brings it back
		s.input.clear()
		return s.startTicking()
	case s.mayLeave():
		s.leave()
	}
	return nil
}

// mayLeave reports whether Ctrl-C leaves if it has nothing else to end.
func (s *screen) mayLeave() bool { return time.Since(s.ended) >= leavePause }

// typing reports whether the user has just typed.
func (s *screen) typing() bool { return time.Since(s.typed) < typingPause }

// inputKey handles a key for the input, its menu or the turn.
func (s *screen) inputKey(msg tea.KeyPressMsg) tea.Cmd {
	if s.input.find != nil {
		return s.searchKey(msg)
	}
	menu := s.input.menu()
	switch key := msg.String(); {
	case key == "esc" && len(menu) > 0:
		s.input.closeMenu()
		return nil
	case key == "esc":
		s.interrupt()
		return nil
	case key == "ctrl+r":
		s.input.openSearch()
		return nil
	case key == "ctrl+g":
		return s.openEditor()
	case key == "ctrl+d" && s.input.value() == "":
		s.leave()
		return nil
	case key == "enter":
		return s.enter(menu)
	case key == "tab" && len(menu) > 0:
		s.input.complete(menu)
		return nil
	case key == "tab":
		return nil
	case key == "up" && len(menu) > 0, key == "down" && len(menu) > 0:
		s.input.choose(key == "down", len(menu))
		return nil
	case key == "up" && s.input.older(), key == "down" && s.input.newer():
		return nil
	}
	s.typed = time.Now()
	return tea.Batch(s.input.update(msg), s.wantPaths())
}

// paste pastes into the open form, or into the input.
func (s *screen) paste(msg tea.PasteMsg) tea.Cmd {
	switch {
	case len(s.questions) > 0 && s.questions[0].instead != nil:
		s.questions[0].instead.paste(msg.Content)
		return nil
	case s.picker != nil:
		s.picker.narrow(s.picker.filter + msg.Content)
		return nil
	case s.wizard != nil:
		return s.wizardMsg(msg)
	}
	if s.input.find != nil {
		s.input.takeFound()
	}
	s.typed = time.Now()
	s.input.paste(msg.Content)
	return nil
}

// enter submits the input, or the command that is chosen in the menu.
func (s *screen) enter(menu []choice) tea.Cmd {
	if len(menu) > 0 && s.input.chosen >= 0 {
		s.input.complete(menu)
		if menu[0].put != "" { // a part of a message, not all of it
			return nil
		}
	}
	value, typed := s.input.value(), s.input.text()
	text := strings.TrimSpace(typed)
	if text == "" {
		return nil
	}
	command, past := isCommand(text), text
	// With a space before the slash, the text is a message. So is a pasted command, because the
	// user does not see how the paste begins.
	if command && !strings.HasPrefix(value, "/") {
		command, past = false, " "+text
	}
	shell := isShell(typed) && strings.HasPrefix(value, "!")
	if isShell(text) && !shell { // the same for !
		past = " " + text
	}
	s.mentioned(text, value)
	s.input.clear()
	s.typed = time.Time{}
	s.input.past.add(past)
	keep := func() tea.Msg { return savedHistoryMsg{s.history.add(past)} }
	if command {
		return tea.Batch(keep, s.runCommand(text))
	}
	if shell {
		return tea.Batch(keep, s.runShell(strings.TrimSpace(text[1:])))
	}
	return tea.Batch(keep, s.send(text))
}

// send sends a message; during a turn, the message waits.
func (s *screen) send(text string) tea.Cmd {
	if s.turn != nil || s.busy != "" {
		s.queued = append(s.queued, text)
		return nil
	}
	return s.startTurn(text)
}
