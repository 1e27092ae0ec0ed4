package config

import (
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/document"
)

// Config is a checked config.toml with the defaults filled in. It is shared, so treat it as
// read-only.
type Config struct {
	Trust     Trust             // how new or changed plugins are treated; "": not set
	Sandbox   Sandbox           // which declared capabilities the kernel enforces
	Engine    Engine            // where state is stored
	Model     Model             // the model behind chat
	Server    Server            // the daemon
	Chat      Chat              // the built-in agent
	Telemetry Telemetry         // where the daemon sends traces
	Plugins   map[string]Plugin // by a plugin's name, or DIALECT:NAME
	Connect   []Connect         // hooks connected to other points than their own
	Jobs      Jobs              // scheduled agents
	MCP       []MCP             // MCP servers that are plugins

	source
	mode fs.FileMode // of the file, when it was read
}

// A source knows the positions of values in a file.
type source struct {
	file     string                               // as given to Load, for messages
	position func(path ...any) (line, column int) // nil: there is no file
}

// Sandbox says which declared capabilities are enforced. Capabilities that the config grants with
// `capabilities` are always enforced, except with off.
type Sandbox string

// The values of `sandbox`.
const (
	SandboxKaged    Sandbox = "kaged"    // kaged manifests
	SandboxDeclared Sandbox = "declared" // also mine manifests, and the [security] of scheduled agents
	SandboxOff      Sandbox = "off"      // none
)

// Trust says how to treat plugins whose files differ from patchbay.lock.
type Trust string

// The values of `trust`.
const (
	TrustRecord Trust = "record" // new ones are recorded; changed ones cause a warning
	TrustLocked Trust = "locked" // both are refused
)

// Engine is the [engine] table.
type Engine struct {
	URL         string // empty: embedded; else the address of a cluster
	Credentials string // a NATS credentials file; see [Dirs.Resolve] for this and the next three
	CA          string // PEM: the authorities that sign the servers' certificates
	Cert, Key   string // PEM: the client's certificate, for servers that ask for one
}

// Provider names the service that answers as the model.
type Provider string

// The values of `model.provider`.
const (
	ProviderAnthropic Provider = "anthropic"
	ProviderOpenAI    Provider = "openai" // and every endpoint compatible with it
	ProviderOffline   Provider = "offline"
)

// Model is the [model] table. Flags and $PATCHBAY_MODEL override it.
type Model struct {
	Provider Provider // empty: none chosen
	Name     string
	BaseURL  string // empty: the provider's own, or its environment variable
	Script   string // offline only: the replies to play; see [Dirs.Resolve]
	Window   int    // tokens that a conversation may have; 0: the known size of the model's window
}

// Server is the [server] table.
type Server struct {
	Listen string   // host:port
	Token  Secret   // every client must send it; required for any address but loopback
	Hosts  []string // names by which clients may call the daemon, in addition to loopback and its own address
}

// Telemetry is the [telemetry] table.
type Telemetry struct {
	OTLP string // the address of an OpenTelemetry collector; "": nothing is exported
}

// Approve says what happens when a built-in tool that changes something is called.
type Approve string

// The values of `chat.approve`. With "", each surface has its own default: a terminal asks, `-p`
// requires --yes, an HTTP session does not ask.
const (
	ApproveAsk  Approve = "ask"
	ApproveAuto Approve = "auto"
	ApproveDeny Approve = "deny"
)

// Compact says how a transcript that is too long is shortened.
type Compact string

// The values of `chat.compact`. Empty means summarize.
const (
	CompactDrop       Compact = "drop"
	CompactSummarize  Compact = "summarize"
	CompactDelegate   Compact = "delegate"
	CompactCheckpoint Compact = "checkpoint"
)

// Chat is the [chat] table.
type Chat struct {
	Approve    Approve
	Compact    Compact
	NoAgentsMD bool // AGENTS.md of a project is not part of the prompt
}

// OnFailure says what a plugin's failure does to the event. With "", the failure table decides.
type OnFailure string

// The values of `on_failure`.
const (
	FailSkip  OnFailure = "skip"  // go on as if the plugin were not there
	FailAbort OnFailure = "abort" // the event fails
	FailDeny  OnFailure = "deny"  // the event is refused
)

// A Conversation is a value of `messages`.
type Conversation string

// The values of `messages`.
const (
	AsList Conversation = "list" // a list of messages
	AsText Conversation = "text" // one text
)

// Plugin is one [plugins.NAME] table. Its zero value changes nothing.
type Plugin struct {
	Enabled         *bool                   // nil: enabled
	Priority        *int                    // nil: the priority of the plugin or its dialect
	Timeout         time.Duration           // of a hook; 0: the dialect's
	ToolTimeout     time.Duration           // of a tool, which may take longer than a hook; 0: the dialect's
	Standby         int                     // processes started ahead of their call
	Env             []string                // names or globs of variables to pass on; nil and empty differ for dialects that inherit the environment
	OnFailure       OnFailure               // empty: the failure table
	Messages        Conversation            // how hooks get conversations; empty: as lists
	Capabilities    []capability.Capability // nil: those that the plugin declares; empty: none
	AllowUnenforced bool                    // run it even if a capability cannot be enforced
	Limits          Limits                  // what it may use
	Config          map[string]any          // JSON values (times are strings); nil: not set
}

// Limits is a [plugins.NAME.limits] table. Zero means no limit; for storage it means the default.
type Limits struct {
	Memory      int64         // bytes
	Processes   int           // with their threads
	OpenFiles   int           // in each process
	CPUTime     time.Duration // of each process
	Output      int64         // bytes of one answer
	Storage     int64         // bytes that the plugin stores in the host; 0: 64 MiB
	StorageKeys int           // keys that the plugin stores; 0: 10,000
}

// On reports whether the plugin is enabled.
func (p Plugin) On() bool { return p.Enabled == nil || *p.Enabled }

// Connect is one [[connect]] table: it connects a plugin's hook to a point.
type Connect struct {
	Plugin string
	Hook   string
	Point  string
}

// MCP is one [[mcp]] table: an MCP server that is used as a plugin.
type MCP struct {
	Name    string
	Command []string          // the program and its arguments; nil: the server is at URL
	Env     map[string]string // variables of the program; ${NAME} stands for a secret
	URL     string
	Headers map[string]string // of every request to URL; ${NAME} stands for a secret
	Prefix  string            // put before the names of its tools and prompts
}

// Jobs is the [jobs] table.
type Jobs struct {
	Dirs []string // as written; nil: the default of [Dirs.JobDirs]
}

// Default returns the configuration of a missing or empty file.
func Default() *Config {
	return &Config{
		Sandbox: SandboxKaged,
		Server:  Server{Listen: "127.0.0.1:8000"},
	}
}

// A Problem is one mistake in a file.
type Problem = document.Problem

// An Error holds all mistakes in a file.
type Error = document.Error

// File returns the path from which the config was read, as given to Load; "" for [Default].
func (c *Config) File() string { return c.file }

// Exposed reports a file that contains a password and that other users can read. ok is false if the
// file is fine.
func (c *Config) Exposed() (p Problem, ok bool) {
	key := c.password()
	if key == "" || !sharedMode(c.mode&0o444) {
		return Problem{}, false
	}
	return Problem{File: c.file, Key: key, Message: fmt.Sprintf("holds %s, and others can read it (mode %04o)", key, c.mode.Perm()),
		Fix: "run: chmod 600 " + shellQuote(c.file)}, true
}

// password returns the name of a key that contains a password, or "".
func (c *Config) password() string {
	if !c.Server.Token.Empty() {
		return "server.token"
	}
	for _, server := range strings.Split(c.Engine.URL, ",") {
		if u, err := url.Parse(strings.TrimSpace(server)); err == nil && u.User != nil {
			return "engine.url with a password"
		}
	}
	return ""
}

// Problem returns a mistake in the value at path (keys, and indexes into lists), for checks that
// only the callers of this package can make: `c.Problem("no such point", "", "connect", 0,
// "point")`. If the file does not have the value, the position is that of the nearest enclosing
// table. Without a file there is no position. Collect the problems in an [*Error].
func (c *source) Problem(message, fix string, path ...any) Problem {
	p := Problem{File: c.file, Key: document.KeyPath(path...), Message: message, Fix: fix}
	if c.position != nil {
		p.Line, p.Column = c.position(path...)
	}
	return p
}
