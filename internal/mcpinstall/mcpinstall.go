// Package mcpinstall adds Patchbay as an MCP server to other agents: one entry in one file of each
// agent. It knows the files and the form of their entries. Package editfile edits the files, so
// that every other byte stays.
//
//	Find        finds the agent's file, for the user or a project
//	Entry.Set   writes the entry
//	Entry.Unset removes it
package mcpinstall

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/editfile"
)

// Name is the server's name in the agents' files.
const Name = "patchbay"

// A host is an agent with a file of MCP servers.
type host struct {
	name    string
	home    string // an environment variable; if it names a directory, the file is below it; "": none
	user    string // the file below the user's home directory, if the variable is not set
	moved   string // the file below the directory that the variable names
	project string // the file below a project; "": it has none
	path    []string
	value   func(command []string, env map[string]string) any
	toml    bool
}

// hosts lists the agents in the order in which users see them.
var hosts = []host{
	{name: "claude", home: "CLAUDE_CONFIG_DIR", user: ".claude.json", moved: ".claude.json", project: ".mcp.json", path: []string{"mcpServers", Name}, value: typed("stdio")},
	{name: "codex", home: "CODEX_HOME", user: ".codex/config.toml", moved: "config.toml", project: ".codex/config.toml", path: []string{"mcp_servers", Name}, value: typed(""), toml: true},
	{name: "gemini", user: ".gemini/settings.json", project: ".gemini/settings.json", path: []string{"mcpServers", Name}, value: typed("")},
	{name: "cursor", user: ".cursor/mcp.json", project: ".cursor/mcp.json", path: []string{"mcpServers", Name}, value: typed("")},
	{name: "copilot", home: "COPILOT_HOME", user: ".copilot/mcp-config.json", moved: "mcp-config.json", path: []string{"mcpServers", Name}, value: copilot},
	{name: "opencode", home: "XDG_CONFIG_HOME", user: ".config/opencode/opencode.json", moved: "opencode/opencode.json", project: "opencode.json", path: []string{"mcp", Name}, value: opencode},
	{name: "qwen", user: ".qwen/settings.json", project: ".qwen/settings.json", path: []string{"mcpServers", Name}, value: typed("")},
}

// Hosts returns the names of the agents.
func Hosts() []string {
	var names []string
	for _, h := range hosts {
		names = append(names, h.name)
	}
	return names
}

// server is an entry in the form that most agents use.
type server struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env,omitempty"`
	Tools   []string          `json:"tools,omitempty"`
}

func typed(kind string) func([]string, map[string]string) any {
	return func(command []string, env map[string]string) any {
		return server{Type: kind, Command: command[0], Args: command[1:], Env: env}
	}
}

// copilot returns an entry for Copilot, which requires a list of the allowed tools.
func copilot(command []string, env map[string]string) any {
	return server{Type: "local", Command: command[0], Args: command[1:], Env: env, Tools: []string{"*"}}
}

func opencode(command []string, env map[string]string) any {
	return struct {
		Type        string            `json:"type"`
		Command     []string          `json:"command"`
		Enabled     bool              `json:"enabled"`
		Environment map[string]string `json:"environment,omitempty"`
	}{"local", command, true, env}
}

// A Request describes an entry.
type Request struct {
	Host    string
	Project string // the root of a project; "": for the user
	Home    string // the user's home directory
	Getenv  func(string) string
	Command []string          // the program and its arguments
	Env     map[string]string // variables that the program needs and the agent does not pass on
}

// An Entry is Patchbay's entry in the file of one agent.
type Entry struct {
	place editfile.Place
	path  []string
	value json.RawMessage
	toml  bool
}

// Find returns the entry for a request.
func Find(r Request) (*Entry, error) {
	i := slices.IndexFunc(hosts, func(h host) bool { return h.name == r.Host })
	if i < 0 {
		return nil, fmt.Errorf("no agent is called %.40q: the agents are %s", r.Host, strings.Join(Hosts(), ", "))
	}
	h := hosts[i]
	place, err := h.place(r)
	if err != nil {
		return nil, err
	}
	value, err := json.Marshal(h.value(r.Command, r.Env))
	return &Entry{place: place, path: h.path, value: value, toml: h.toml}, err
}

func (h *host) place(r Request) (editfile.Place, error) {
	if r.Project != "" {
		if h.project == "" {
			return editfile.Place{}, fmt.Errorf("%s has no file of MCP servers for a project: leave --project out", h.name)
		}
		return editfile.Place{Dir: r.Project, Name: h.project, Mode: 0o644}, nil
	}
	if dir := r.Getenv(h.home); h.home != "" && filepath.IsAbs(dir) {
		return editfile.Place{Dir: dir, Name: h.moved}, nil
	}
	if r.Home == "" {
		return editfile.Place{}, fmt.Errorf("the file of %s is below the home directory, and $HOME is not set", h.name)
	}
	return editfile.Place{Dir: r.Home, Name: h.user}, nil
}

// File returns the path of the file.
func (e *Entry) File() string { return filepath.Join(e.place.Dir, filepath.FromSlash(e.place.Name)) }

// Key returns the key of the entry in the file.
func (e *Entry) Key() string { return strings.Join(e.path, ".") }

// Value returns the entry as JSON.
func (e *Entry) Value() string { return string(e.value) }

// Set writes the entry, unless the file has it.
func (e *Entry) Set() (editfile.Result, error) { return editfile.Edit(e.place, e.Changed) }

// Changed returns a file's text with the entry.
func (e *Entry) Changed(old []byte) ([]byte, error) {
	if e.toml {
		return editfile.SetTOML(old, e.path, e.value)
	}
	return editfile.SetJSON(old, e.path, e.value)
}

// Unset removes the entry. It does not create a missing file.
func (e *Entry) Unset() (editfile.Result, error) {
	if _, err := os.Stat(e.File()); os.IsNotExist(err) {
		return editfile.Result{Path: e.File()}, nil
	}
	return editfile.Edit(e.place, e.Without)
}

// Without returns a file's text without the entry.
func (e *Entry) Without(old []byte) ([]byte, error) {
	return editfile.Undone(e.File(), old, e.Changed, e.removed)
}

func (e *Entry) removed(old []byte) ([]byte, error) {
	if e.toml {
		return editfile.RemoveTOML(old, e.path)
	}
	return editfile.RemoveJSON(old, e.path)
}
