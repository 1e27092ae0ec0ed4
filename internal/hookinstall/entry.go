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
	codehook.Claude:  {entry: matched},
	codehook.Codex:   {entry: matched},
	codehook.Qwen:    {entry: matched},
	codehook.Gemini:  {entry: named},
	codehook.Cursor:  {entry: plain, version: 1},
	codehook.Copilot: {entry: executed, version: 1},
}

// A command is a handler that is run by a shell.
type command struct {
	Name    string `json:"name,omitempty"`
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int64  `json:"timeout"`
}

// handlers is a group of handlers. Without a matcher, as here, they handle every event of their
// kind.
type handlers struct {
	Hooks []command `json:"hooks"`
}

// matched returns an entry for Claude Code, Codex and Qwen Code.
func matched(p Program, agent codehook.Agent, event string, timeout time.Duration) any {
	return handlers{[]command{{Type: "command", Command: p.line(agent, event), Timeout: int64(timeout / time.Second)}}}
}

// named returns an entry for Gemini CLI: it has a name, which Gemini CLI lists, and its timeout is
// in milliseconds.
func named(p Program, agent codehook.Agent, event string, timeout time.Duration) any {
	return handlers{[]command{{Name: mainProgram, Type: "command", Command: p.line(agent, event), Timeout: timeout.Milliseconds()}}}
}

// plain returns an entry for Cursor.
func plain(p Program, agent codehook.Agent, event string, timeout time.Duration) any {
	return command{Type: "command", Command: p.line(agent, event), Timeout: int64(timeout / time.Second)}
}

// executed returns an entry for Copilot CLI, which starts the program without a shell.
func executed(p Program, agent codehook.Agent, event string, timeout time.Duration) any {
	return struct {
		Type    string   `json:"type"`
		Exec    string   `json:"exec"`
		Args    []string `json:"args"`
		Timeout int64    `json:"timeoutSec"`
	}{"command", p.Path, p.args(agent, event), int64(timeout / time.Second)}
}

// item returns the entry of an event as JSON.
func (r recipe) item(p Program, agent codehook.Agent, spec codehook.EventSpec) (json.RawMessage, error) {
	return json.Marshal(r.entry(p, agent, spec.Name, spec.Timeout))
}
