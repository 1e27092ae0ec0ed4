package hookinstall

import (
	"encoding/json"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
)

// A recipe is how an agent's file is written.
type recipe struct {
	// entry is what stands in the list of an event.
	entry func(p Program, agent codehook.Agent, event string, timeout time.Duration) any
	// version is the file's own format version, which must be there; 0: it has none.
	version int
}

// recipes has the agents whose file is JSON. Orders of fields are fixed: an agent may ask again
// when a byte changes.
var recipes = map[codehook.Agent]recipe{
	codehook.Claude:  {entry: matched},
	codehook.Codex:   {entry: matched},
	codehook.Qwen:    {entry: matched},
	codehook.Gemini:  {entry: named},
	codehook.Cursor:  {entry: plain, version: 1},
	codehook.Copilot: {entry: executed, version: 1},
}

// command is a handler that a shell starts.
type command struct {
	Name    string `json:"name,omitempty"`
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int64  `json:"timeout"`
}

// handlers stand behind a matcher; without one they are for everything.
type handlers struct {
	Hooks []command `json:"hooks"`
}

// matched is an entry as Claude Code, Codex and Qwen Code have it.
func matched(p Program, agent codehook.Agent, event string, timeout time.Duration) any {
	return handlers{[]command{{Type: "command", Command: p.line(agent, event), Timeout: int64(timeout / time.Second)}}}
}

// named is an entry as Gemini CLI has it: with a name that its lists show, and milliseconds.
func named(p Program, agent codehook.Agent, event string, timeout time.Duration) any {
	return handlers{[]command{{Name: mainProgram, Type: "command", Command: p.line(agent, event), Timeout: timeout.Milliseconds()}}}
}

// plain is an entry as Cursor has it.
func plain(p Program, agent codehook.Agent, event string, timeout time.Duration) any {
	return command{Type: "command", Command: p.line(agent, event), Timeout: int64(timeout / time.Second)}
}

// executed is an entry as Copilot CLI has it, without a shell.
func executed(p Program, agent codehook.Agent, event string, timeout time.Duration) any {
	return struct {
		Type    string   `json:"type"`
		Exec    string   `json:"exec"`
		Args    []string `json:"args"`
		Timeout int64    `json:"timeoutSec"`
	}{"command", p.Path, p.args(agent, event), int64(timeout / time.Second)}
}

// item is the entry of an event as JSON.
func (r recipe) item(p Program, agent codehook.Agent, spec codehook.EventSpec) (json.RawMessage, error) {
	return json.Marshal(r.entry(p, agent, spec.Name, spec.Timeout))
}
