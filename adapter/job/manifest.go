package job

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/document"
)

// A Manifest is an agent's agent.toml, checked and with its defaults filled in. Every path in it is
// absolute, and every schedule has its own retry rules. Treat it as read-only, because it is
// shared.
type Manifest struct {
	Path        string // of agent.toml
	Dir         string // the agent's directory; paths in the file are relative to it
	Fingerprint string // a hash of the file

	Agent     Agent
	Run       Program
	Env       Env
	Defaults  Retry // for schedules that do not override them, and for an agent without schedules
	Schedules []Schedule
	Preflight []Hook // called before the agent runs; it does not run if one refuses
	OnSuccess []Hook // sinks, called with the agent's output
	OnFailure []Hook // called after failures
	Notifiers []Notifier
	Security  Security
	Warnings  []document.Problem // keys that have another effect than the author may expect

	named Place // where the file has the agent's name
}

// Agent is the [agent] table.
type Agent struct {
	Name        string
	Description string
	Version     string        // shown to people; nothing depends on it
	Monitor     bool          // false: the schedules are off, and a person starts the agent
	Timeout     time.Duration // of the program in one attempt
}

// Program is the [run] table: the program to start.
type Program struct {
	Command    string   // a bare name, which is looked up in $PATH, or an absolute path
	Args       []string // those of the schedule follow
	WorkingDir string
	InProject  bool  // working_dir is given, so the agent's plugins run in its project
	At         Place // of the command
	DirAt      Place // of the working directory
}

// Env is the [env] table.
type Env struct {
	Inherit bool
	Extra   map[string]string `json:"-"` // overrides inherited variables; may hold secrets
}

// Retry says how often a failed attempt is repeated, and when a missing success is reported.
type Retry struct {
	Attempts   int             // the number of attempts, at least one
	Backoff    []time.Duration // the wait before the second attempt, the third, …; the last entry repeats; empty: no wait
	StaleAfter time.Duration   // how late a success may be before stale is reported; 0: no limit
}

// A Hook is one entry of [[preflight]], [[on_success]] or [[on_failure]]: a plugin, and for which
// events it is called.
type Hook struct {
	Plugin  string
	Config  json.RawMessage // an object; "{}" if the manifest has none: docs/protocols/dotagent.md, row D31
	Events  []Event         // empty: all
	Timeout time.Duration   // 0: the plugin's dialect decides
	At      Place
}

// Wants reports whether the hook is called for an event.
func (h Hook) Wants(e Event) bool { return len(h.Events) == 0 || slices.Contains(h.Events, e) }

// A Notifier is one entry of [[notifiers]].
type Notifier struct {
	Driver    Driver
	Events    []Event       // empty: all
	RateLimit time.Duration // the time between two messages; 0: no limit
	Timeout   time.Duration // for the driver plugin; 0: the plugin's dialect decides

	// Settings has the driver's own keys, as JSON values. ${NAME} in them is expanded when a
	// message is sent.
	Settings map[string]any `json:"-"`
	At       Place
}

// Wants reports whether the notifier sends an event.
func (n Notifier) Wants(e Event) bool { return len(n.Events) == 0 || slices.Contains(n.Events, e) }

// merges reports whether the notifier sends one message for several events of the same moment.
// Built-in notifiers that list no events do.
func (n Notifier) merges() bool { return len(n.Events) == 0 && n.Driver != DriverPlugin }

// String describes the notifier without its settings, which may be secrets.
func (n Notifier) String() string { return "notifier " + n.At.Key + " (" + string(n.Driver) + ")" }

// A Driver says how a notifier reaches people.
type Driver string

// The drivers that need rules of their own. Package notify lists all but DriverPlugin.
const (
	DriverDesktop Driver = "desktop"
	DriverPlugin  Driver = "plugin"
)

// Security is the [security] table: what the agent may do. An empty list restricts nothing, as in
// dotagent, where an agent without the table is not restricted. The exception is an empty list of
// hosts in Network.
type Security struct {
	AllowedCommands    []string
	AllowedPlugins     []string
	Network            Network
	FilesystemWritable []string // absolute paths; the temporary directory and the heartbeat file are always writable
	EnvPassthrough     []string // names or globs
}

// Network says which hosts an agent may reach. The zero value allows all.
type Network struct {
	Restricted bool     // only Hosts are allowed
	Hosts      []string // if Restricted and empty: no host is allowed
}

// allowsPlugin reports whether the manifest may name a plugin.
func (s Security) allowsPlugin(name string) bool {
	return len(s.AllowedPlugins) == 0 || slices.Contains(s.AllowedPlugins, name)
}

// A Place is a position in the manifest.
type Place struct {
	Key          string // dotted, as in preflight[0]
	Line, Column int    // from 1
}

// Problem returns a problem at a place in the manifest. It is for checks that only the callers can
// make, such as whether a plugin is installed. Collect problems in a [*document.Error].
func (m *Manifest) Problem(at Place, message, fix string) document.Problem {
	return document.Problem{File: m.Path, Line: at.Line, Column: at.Column, Key: at.Key, Message: at.Key + ": " + message, Fix: fix}
}

// Schedule returns the schedule with an id, or nil.
func (m *Manifest) Schedule(id string) *Schedule {
	for i := range m.Schedules {
		if m.Schedules[i].ID == id {
			return &m.Schedules[i]
		}
	}
	return nil
}

// Slug returns the agent's name as a file name or key that is safe everywhere: in lower case, since
// some file systems ignore case, and never a name that Windows reserves. Different names have
// different slugs. It is not $AGENT_SLUG, which is [Schedule.Slug].
func (m *Manifest) Slug() string {
	name := m.Agent.Name
	slug := strings.ToLower(name)
	if slug == name && !reserved(slug) {
		return slug
	}
	sum := sha256.Sum256([]byte(name))
	return strings.ReplaceAll(slug, ".", "-") + "+" + hex.EncodeToString(sum[:4]) // a name has no plus
}

// reserved reports whether a file name is a device on Windows, whatever its extension.
func reserved(name string) bool {
	name, _, _ = strings.Cut(name, ".")
	switch name {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(name) == 4 && (strings.HasPrefix(name, "com") || strings.HasPrefix(name, "lpt")) && name[3] >= '0' && name[3] <= '9'
}
