package patchbay

import (
	"encoding/json"
	"time"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// PluginInfo is one plugin, as `patchbay plugin list --json` prints it.
type PluginInfo struct {
	Name        string   `json:"name"`
	Dialect     string   `json:"dialect"` // the protocol it speaks
	Version     string   `json:"version"`
	Description string   `json:"description"`
	Path        string   `json:"path"`
	State       State    `json:"state"`
	Hooks       []string `json:"hooks"` // the dialect's own names
	Tools       []string `json:"tools"` // full names, as CallTool takes them
	Commands    []string `json:"commands"`
	Methods     []string `json:"methods"`
	Kinds       []string `json:"kinds"`
	Priority    int      `json:"priority"` // lower is asked first
	Pid         *int     `json:"pid"`      // nil: no process
	Error       *string  `json:"error"`    // why it is not ready
}

// A State is what became of a plugin.
type State string

// The states.
const (
	Ready       State = "ready"
	Broken      State = "broken"      // it cannot work; Error says why
	Disabled    State = "disabled"    // by the configuration
	Skipped     State = "skipped"     // left out by a rule of its dialect
	Unsupported State = "unsupported" // not for this system
)

// A Tool is a function that a plugin offers.
type Tool struct {
	Name        string          `json:"name"` // its full name, with the plugin's in it
	Plugin      string          `json:"plugin"`
	Dialect     string          `json:"dialect"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // JSON Schema of an object
}

// A ToolResult is what a tool call came to.
type ToolResult struct {
	Tool    string `json:"tool"`
	Success bool   `json:"success"`
	Result  string `json:"result"`
	Error   string `json:"error"` // set where Success is false
}

// A Finding is one thing that is wrong, and how to fix it.
type Finding struct {
	Severity string `json:"severity"` // error | warning | info
	Plugin   string `json:"plugin"`
	Dialect  string `json:"dialect"`
	Where    string `json:"where"` // a file, with line and column where they are known
	Problem  string `json:"problem"`
	Fix      string `json:"fix"`
}

// A Notification is something that a plugin said unasked.
type Notification struct {
	Plugin  string          `json:"plugin"`
	Dialect string          `json:"dialect"`
	Time    time.Time       `json:"time"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

func pluginInfo(p pluginhost.PluginInfo) PluginInfo {
	return PluginInfo{Name: p.Name, Dialect: p.Dialect, Version: p.Version, Description: p.Description, Path: p.Path, State: State(p.State),
		Hooks: p.Hooks, Tools: p.Tools, Commands: p.Commands, Methods: p.Methods, Kinds: p.Kinds, Priority: p.Priority, Pid: p.Pid, Error: p.Error}
}
