package tui

import (
	"io"

	tea "charm.land/bubbletea/v2"
)

// key handles a key.
func (s *consoleScreen) key(key string) tea.Cmd {
	switch {
	case key == "ctrl+z":
		return tea.Suspend
	case key == "ctrl+l":
		s.canvas.clear()
		return nil
	case key == "ctrl+c" || key == "ctrl+d":
		s.leaving = true
		return nil
	case s.menu != nil:
		return s.menuKey(key)
	}
	for _, k := range s.console.Keys {
		if k.Key == key {
			return s.begin(k)
		}
	}
	return nil
}

// begin opens the choice of a key, or runs its function if there is no choice.
func (s *consoleScreen) begin(k ConsoleKey) tea.Cmd {
	if k.Leave {
		s.leaving = true
		return nil
	}
	if k.Choices == nil {
		return s.do(k, 0)
	}
	labels := k.Choices()
	switch len(labels) {
	case 0:
		return nil
	case 1:
		return s.do(k, 0)
	}
	s.menu = &consoleMenu{key: k, labels: labels, at: min(s.chosen[k.Key], len(labels)-1)}
	return nil
}

func (s *consoleScreen) menuKey(key string) tea.Cmd {
	m := s.menu
	switch {
	case key == "esc" || key == "q":
		s.menu = nil
	case key == "up" || key == "k":
		m.at = (m.at + len(m.labels) - 1) % len(m.labels)
	case key == "down" || key == "j":
		m.at = (m.at + 1) % len(m.labels)
	case key == "enter":
		s.menu, s.chosen[m.key.Key] = nil, m.at
		return s.do(m.key, m.at)
	case len(key) == 1 && key[0] >= '1' && key[0] <= '9' && int(key[0]-'1') < len(m.labels):
		s.menu, s.chosen[m.key.Key] = nil, int(key[0]-'1')
		return s.do(m.key, int(key[0]-'1'))
	}
	return nil
}

func (s *consoleScreen) do(k ConsoleKey, choice int) tea.Cmd {
	if k.Exec != nil {
		run := k.Exec
		exec := &execution{do: func() error { return run(s.ctx, choice) }}
		k.Exec = nil // Do follows
		return tea.Exec(exec, func(err error) tea.Msg { return doneMsg{err, func() tea.Msg { return doMsg{k, choice} }} })
	}
	if k.Do == nil {
		return nil
	}
	s.doing.Add(1)
	return func() tea.Msg {
		defer s.doing.Done()
		k.Do(s.ctx, choice)
		return doneMsg{}
	}
}

// An execution lets Bubble Tea run a function as if it were a program that uses the terminal. The
// function opens the terminal itself.
type execution struct{ do func() error }

func (e *execution) Run() error        { return e.do() }
func (*execution) SetStdin(io.Reader)  {}
func (*execution) SetStdout(io.Writer) {}
func (*execution) SetStderr(io.Writer) {}

var _ tea.ExecCommand = (*execution)(nil)
