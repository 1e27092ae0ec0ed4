package hookinstall

import (
	"encoding/json"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
)

// A recipe says how an agent's file is written.
type recipe struct {
	// entry returns the entry for one event.
	entry func(p Program, agent codehook.Agent, event string, timeout time.Duration) any
	// version is the required format version of the file; 0: it has none.
	version int
}

// recipes lists the agents whose file is JSON. The order of fields is fixed, because an agent may
// ask the user again when a byte changes.
var recipes = map[codehook.Agent]recipe{
	codehook.Claude:  {entry: groupEntry},
	codehook.Codex:   {entry: groupEntry},
	codehook.Qwen:    {entry: groupEntry},
	codehook.Gemini:  {entry: namedEntry},
	codehook.Cursor:  {entry: commandEntry, version: 1},
	codehook.Copilot: {entry: execEntry, version: 1},
}

// A command is a handler that is run by a shell.
type command struct {
	Name    string `json:"name,omitempty"`
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int64  `json:"timeout"`
}

// A handlerGroup is a list of handlers. Without a matcher, as here, they handle every event of
// their kind.
type handlerGroup struct {
	Hooks []command `json:"hooks"`
}

// groupEntry returns an entry for Claude Code, Codex and Qwen Code.
func groupEntry(p Program, agent codehook.Agent, event string, timeout time.Duration) any {
	return handlerGroup{[]command{{Type: "command", Command: p.line(agent, event), Timeout: int64(timeout / time.Second)}}}
}

// namedEntry returns an entry for Gemini CLI: it has a name, which Gemini CLI lists, and its
// timeout is in milliseconds.
func namedEntry(p Program, agent codehook.Agent, event string, timeout time.Duration) any {
	return handlerGroup{[]command{{Name: mainProgram, Type: "command", Command: p.line(agent, event), Timeout: timeout.Milliseconds()}}}
}

// commandEntry returns an entry for Cursor.
func commandEntry(p Program, agent codehook.Agent, event string, timeout time.Duration) any {
	return command{Type: "command", Command: p.line(agent, event), Timeout: int64(timeout / time.Second)}
}

// execEntry returns an entry for Copilot CLI, which starts the program without a shell.
func execEntry(p Program, agent codehook.Agent, event string, timeout time.Duration) any {
	return struct {
		Type    string   `json:"type"`
		Exec    string   `json:"exec"`
		Args    []string `json:"args"`
		Timeout int64    `json:"timeoutSec"`
	}{"command", p.Path, p.args(agent, event), int64(timeout / time.Second)}
}

// entryJSON returns the entry of an event as JSON.
func (r recipe) entryJSON(p Program, agent codehook.Agent, spec codehook.EventSpec) (json.RawMessage, error) {
	return json.Marshal(r.entry(p, agent, spec.Name, spec.Timeout))
}
