package patchbay

import (
	"encoding/json"
	"time"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// PluginInfo describes one plugin, as `patchbay plugin list --json` prints it.
type PluginInfo struct {
	Name        string   `json:"name"`
	Dialect     string   `json:"dialect"` // the protocol that the plugin speaks
	Version     string   `json:"version"`
	Description string   `json:"description"`
	Path        string   `json:"path"`
	State       State    `json:"state"`
	Hooks       []string `json:"hooks"` // the protocol's names
	Tools       []string `json:"tools"` // full names, for CallTool
	Commands    []string `json:"commands"`
	Methods     []string `json:"methods"`
	Kinds       []string `json:"kinds"`
	Priority    int      `json:"priority"` // lower priorities are called first
	Pid         *int     `json:"pid"`      // nil: it has no process
	Error       *string  `json:"error"`    // why the plugin is not ready
}

// A State says whether a plugin is ready, and why it is not.
type State string

// The states.
const (
	Ready       State = "ready"
	Broken      State = "broken"      // it does not work; Error says why
	Disabled    State = "disabled"    // by the configuration
	Skipped     State = "skipped"     // left out by a rule of its protocol
	Unsupported State = "unsupported" // not for this system
)

// A Tool is a function that a plugin offers.
type Tool struct {
	Name        string          `json:"name"` // its full name, which contains the plugin's name
	Plugin      string          `json:"plugin"`
	Dialect     string          `json:"dialect"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // JSON Schema of an object
}

// A ToolResult is the result of a tool call.
type ToolResult struct {
	Tool    string `json:"tool"`
	Success bool   `json:"success"`
	Result  string `json:"result"`
	Error   string `json:"error"` // set if Success is false
}

// A Finding is one problem, and how to fix it.
type Finding struct {
	Severity string `json:"severity"` // error | warning | info
	Plugin   string `json:"plugin"`
	Dialect  string `json:"dialect"`
	Where    string `json:"where"` // a file, with line and column if they are known
	Problem  string `json:"problem"`
	Fix      string `json:"fix"`
}

// A Notification is a message that a plugin sent without being called.
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
