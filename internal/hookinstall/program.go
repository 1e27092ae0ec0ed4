package hookinstall

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// A Program is the program that agents start.
type Program struct {
	Path string   // absolute
	Args []string // before the agent's name

	// Closed is the path of the file that lists the plugins that must agree to events: see
	// hookclient.Closed. If the program does not answer, OpenCode's plugin reads this file, and
	// refuses the events to which one of these plugins must agree.
	Closed string
	Config string // the user's configuration: OpenCode's plugin reads it if the file in Closed does not exist
}

// The names of our programs.
const (
	mainProgram = "patchbay"
	thinProgram = "patchbay-hook"
)

// args returns the arguments for an event.
func (p Program) args(agent codehook.Agent, event string) []string {
	return append(slices.Clone(p.Args), string(agent), "--event", event)
}

// line returns the command line for an event, quoted for a shell.
func (p Program) line(agent codehook.Agent, event string) string {
	words := append([]string{p.Path}, p.args(agent, event)...)
	for i, word := range words {
		words[i] = program.Quote(word)
	}
	return strings.Join(words, " ")
}

// words splits a command line that [Program.line] has made.
func words(line string) []string {
	var out []string
	var word []byte
	open, quoted := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'':
			quoted, open = !quoted, true
		case !quoted && (c == ' ' || c == '\t'):
			if open {
				out = append(out, string(word))
			}
			word, open = nil, false
		case !quoted && c == '\\' && i+1 < len(line):
			i++
			word, open = append(word, line[i]), true
		default:
			word, open = append(word, c), true
		}
	}
	if open {
		out = append(out, string(word))
	}
	return out
}

// A handler is one program in an agent's list of hooks.
type handler struct {
	Command string    `json:"command"`
	Exec    string    `json:"exec"`
	Args    []string  `json:"args"`
	Hooks   []handler `json:"hooks"`
}

// started returns the command line of a handler as words.
func (h handler) started() []string {
	if h.Exec != "" {
		return append([]string{h.Exec}, h.Args...)
	}
	return append(words(h.Command), h.Args...)
}

// startsPatchbay reports whether a command line starts Patchbay for an agent. The program may be in
// any directory.
func startsPatchbay(agent codehook.Agent, started []string) bool {
	if len(started) < 2 {
		return false
	}
	name := strings.TrimSuffix(filepath.Base(filepath.ToSlash(started[0])), ".exe")
	rest := started[1:]
	switch {
	case name == mainProgram && rest[0] == "hook":
		rest = rest[1:]
	case name != thinProgram:
		return false
	}
	return len(rest) > 0 && rest[0] == string(agent)
}

// handlersOf returns the programs of an item in an agent's list: the item itself, or those in its
// field hooks.
func handlersOf(item any) []handler {
	text, err := json.Marshal(item)
	var h handler
	if err != nil || json.Unmarshal(text, &h) != nil {
		return nil // an item of another form is not ours
	}
	if len(h.Hooks) > 0 {
		return h.Hooks
	}
	return []handler{h}
}

// countOurs returns how many of an item's programs are ours, and how many there are.
func countOurs(agent codehook.Agent, item any) (own, all int) {
	handlers := handlersOf(item)
	for _, h := range handlers {
		if startsPatchbay(agent, h.started()) {
			own++
		}
	}
	return own, len(handlers)
}
