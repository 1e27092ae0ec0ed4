package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// A PromptCommand is a text that is sent by typing its name after a slash. A name of the program's
// own commands never means a prompt.
type PromptCommand struct {
	Name  string // without the slash
	About string
	Text  func(args string) string
}

// A promptList returns the current prompts of a project; nil: none.
type promptList func() []PromptCommand

func (list promptList) all() []PromptCommand {
	if list == nil {
		return nil
	}
	return list()
}

// expand returns the text for a line; ok is false if the line names no prompt.
func (list promptList) expand(line string) (text string, ok bool) {
	name, args, _ := strings.Cut(line, " ")
	if Reserved(name) {
		return "", false
	}
	for _, p := range list.all() {
		if "/"+p.Name == name {
			return p.Text(strings.TrimSpace(args)), true
		}
	}
	return "", false
}

// choices lists the prompts whose names begin with name, for the menu.
func (list promptList) choices(name string) []choice {
	var out []choice
	for _, p := range list.all() {
		if strings.HasPrefix("/"+p.Name, name) && !Reserved("/"+p.Name) {
			out = append(out, choice{text: "/" + p.Name, about: p.About, spaced: true})
		}
	}
	return out
}

// pairs lists the prompts for /help.
func (list promptList) pairs() [][2]string {
	var rows [][2]string
	for _, c := range list.choices("/") {
		rows = append(rows, [2]string{c.text, c.about})
	}
	if rows != nil {
		rows = append([][2]string{{}, {"this project's prompts", ""}}, rows...)
	}
	return rows
}

// sendPrompt sends the text for a line.
func (s *screen) sendPrompt(line string) (tea.Cmd, bool) {
	text, ok := s.prompts.expand(line)
	if !ok {
		return nil, false
	}
	return s.send(text), true
}
