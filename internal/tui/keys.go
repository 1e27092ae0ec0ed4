package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

const (
	// leavePause is how long nothing must have ended before Ctrl-C leaves: one that was meant for a
	// turn which ends at that moment, or is pressed twice, does not.
	leavePause = time.Second
	// typingPause is how long somebody must not have typed before a key answers a question: one
	// that pops up in the middle of a sentence with a y in it is not thereby answered.
	typingPause = 700 * time.Millisecond
)

// key gives a key to whoever it is for: what asks comes before what is typed.
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

// controlC ends the nearest thing: what is under way, a form, what is typed, and where there is
// nothing of that, the program.
func (s *screen) controlC() tea.Cmd {
	switch {
	case len(s.questions) > 0 && s.questions[0].instead != nil:
		s.questions[0].instead = nil
		return nil
	case s.input.find != nil:
		s.input.leaveSearch()
		return nil
	case s.leaving: // what is under way takes too long to end; Run waits for it, but not for ever
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

// mayLeave tells whether Ctrl-C leaves, where there is nothing else for it to end.
func (s *screen) mayLeave() bool { return time.Since(s.ended) >= leavePause }

// typing tells whether the person is in the middle of a sentence.
func (s *screen) typing() bool { return time.Since(s.typed) < typingPause }

// inputKey is a key for the input, or for what stands around it.
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

// paste goes to what is edited: a form of the wizard, or the input.
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

// enter submits the input; a command that is chosen in the menu needs not be typed out.
func (s *screen) enter(menu []choice) tea.Cmd {
	if len(menu) > 0 && s.input.chosen >= 0 {
		s.input.complete(menu)
		if menu[0].put != "" { // part of a message, not all of it
			return nil
		}
	}
	value, typed := s.input.value(), s.input.text()
	text := strings.TrimSpace(typed)
	if text == "" {
		return nil
	}
	command, past := isCommand(text), text
	// With a space before it, it is a message, and so is what a mark stands for: the person does
	// not see how it begins.
	if command && !strings.HasPrefix(value, "/") {
		command, past = false, " "+text
	}
	shell := isShell(typed) && strings.HasPrefix(value, "!")
	if isShell(text) && !shell { // likewise
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

// send sends a message; while a turn runs, it waits.
func (s *screen) send(text string) tea.Cmd {
	if s.turn != nil || s.busy != "" {
		s.queued = append(s.queued, text)
		return nil
	}
	return s.startTurn(text)
}
