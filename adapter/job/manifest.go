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

// A Manifest is an agent's agent.toml, checked and with its defaults filled in: every path in it is
// absolute, and every schedule has its own retry rules. Treat it as read-only: it is shared.
type Manifest struct {
	Path        string // of agent.toml
	Dir         string // the agent's home: what is relative in the manifest is relative to it
	Fingerprint string // of the file's bytes: another one, another manifest

	Agent     Agent
	Run       Program
	Env       Env
	Defaults  Retry // of a schedule that says nothing else, and of a run without one
	Schedules []Schedule
	Preflight []Hook // asked before the agent runs; one refusal and it does not
	OnSuccess []Hook // sinks, given what the agent wrote
	OnFailure []Hook // told what went wrong
	Notifiers []Notifier
	Security  Security
	Warnings  []document.Problem // what works otherwise than its author may think

	named Place // where the agent's name stands
}

// Agent is the [agent] table.
type Agent struct {
	Name        string
	Description string
	Version     string        // for people: nothing depends on it
	Monitor     bool          // false: it runs when a person asks, and its schedules rest
	Timeout     time.Duration // of one attempt
}

// Program is the [run] table: what is started.
type Program struct {
	Command    string   // a bare name, looked up in $PATH, or an absolute path
	Args       []string // a schedule's come after them
	WorkingDir string
	At         Place // of the command
}

// Env is the [env] table.
type Env struct {
	Inherit bool
	Extra   map[string]string `json:"-"` // over what is inherited; people keep secrets in it
}

// Retry is what happens when an attempt fails, or a run stays away.
type Retry struct {
	MaxRetries int             // the number of attempts, at least one
	Backoff    []time.Duration // before the second attempt, the third, …; the last goes on; empty: no wait
	StaleAfter time.Duration   // a success overdue by so much is told as stale
}

// A Hook is one entry of [[preflight]], [[on_success]] or [[on_failure]]: a plugin, and when it is
// asked.
type Hook struct {
	Plugin  string
	Config  json.RawMessage // an object, "{}" if it was left out: docs/protocols/dotagent.md, row D31
	Events  []Event         // empty: all
	Timeout time.Duration   // 0: the plugin's dialect decides
	At      Place
}

// Wants tells whether the hook is for an event.
func (h Hook) Wants(e Event) bool { return len(h.Events) == 0 || slices.Contains(h.Events, e) }

// A Notifier is one entry of [[notifiers]].
type Notifier struct {
	Driver    Driver
	Events    []Event       // empty: all
	RateLimit time.Duration // one message in so long; 0: no limit
	Timeout   time.Duration // of a plugin; 0: the plugin's dialect decides

	// Settings are the keys of the driver that the manifest has, as JSON values. ${VAR} in them is
	// expanded when a message is sent.
	Settings map[string]any `json:"-"`
	At       Place
}

// Wants tells whether the notifier is for an event.
func (n Notifier) Wants(e Event) bool { return len(n.Events) == 0 || slices.Contains(n.Events, e) }

// merges tells whether a notifier gets one message where several events happen at once: a built-in
// one that names no events.
func (n Notifier) merges() bool { return len(n.Events) == 0 && n.Driver != DriverPlugin }

// String is what may be shown of a notifier: its settings are full of tokens.
func (n Notifier) String() string { return "notifier " + n.At.Key + " (" + string(n.Driver) + ")" }

// A Driver is how a notifier reaches people.
type Driver string

// The drivers. All but the last are built in; DriverPlugin sends through a plugin:
// docs/protocols/dotagent.md, row D54.
const (
	DriverDesktop  Driver = "desktop"
	DriverIMessage Driver = "imessage"
	DriverSlack    Driver = "slack"
	DriverNtfy     Driver = "ntfy"
	DriverPushover Driver = "pushover"
	DriverTelegram Driver = "telegram"
	DriverPlugin   Driver = "plugin"
)

// Security is the [security] table: what the agent may. An empty list is no restriction, as in the
// original, where a manifest without the table is free.
type Security struct {
	AllowedCommands    []string
	AllowedPlugins     []string
	Network            Network
	FilesystemWritable []string // absolute; its own temporary directory and heartbeat file are always writable
	EnvPassthrough     []string // names or globs
}

// Network is whom an agent may talk to. Its zero value allows everybody.
type Network struct {
	Restricted bool     // only Hosts; all others are refused
	Hosts      []string // empty and restricted: nobody
}

// AllowsPlugin tells whether the agent may have a plugin asked.
func (s Security) AllowsPlugin(name string) bool {
	return len(s.AllowedPlugins) == 0 || slices.Contains(s.AllowedPlugins, name)
}

// A Place is where something stands in the manifest.
type Place struct {
	Key          string // dotted, as in preflight[0]
	Line, Column int    // from 1
}

// Problem is a complaint about something in the manifest, for checks that only others can make,
// such as whether a plugin is there. Collect them in a [*document.Error].
func (m *Manifest) Problem(at Place, message, fix string) document.Problem {
	return document.Problem{File: m.Path, Line: at.Line, Column: at.Column, Key: at.Key, Message: at.Key + ": " + message, Fix: fix}
}

// Schedule is the schedule with an id; nil where there is none.
func (m *Manifest) Schedule(id string) *Schedule {
	for i := range m.Schedules {
		if m.Schedules[i].ID == id {
			return &m.Schedules[i]
		}
	}
	return nil
}

// Slug is the agent's name as a file name or a key that is safe everywhere: lower case, since some
// file systems know no other, and no name that Windows keeps for itself. Names that differ have
// slugs that differ. It is not $AGENT_SLUG, which is [Schedule.Slug].
func (m *Manifest) Slug() string {
	name := m.Agent.Name
	slug := strings.ToLower(name)
	if slug == name && !reserved(slug) {
		return slug
	}
	sum := sha256.Sum256([]byte(name))
	return strings.ReplaceAll(slug, ".", "-") + "+" + hex.EncodeToString(sum[:4]) // no name has a plus
}

// reserved tells whether Windows takes a file name for a device, whatever its ending.
func reserved(name string) bool {
	name, _, _ = strings.Cut(name, ".")
	switch name {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(name) == 4 && (strings.HasPrefix(name, "com") || strings.HasPrefix(name, "lpt")) && name[3] >= '0' && name[3] <= '9'
}
