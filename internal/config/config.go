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

// Config is config.toml, checked, with the defaults filled in. Treat it as read-only: it is shared.
type Config struct {
	Trust     Trust             // what is done about plugins that are new or have changed; "": it does not say
	Sandbox   Sandbox           // whose declared capabilities the kernel enforces
	Engine    Engine            // where state is kept
	Model     Model             // the LLM behind chat
	Server    Server            // the daemon
	Chat      Chat              // the built-in agent
	Telemetry Telemetry         // where the daemon exports traces to
	Plugins   map[string]Plugin // by a plugin's name, or DIALECT:NAME
	Connect   []Connect         // hooks wired to points beyond their native ones
	Jobs      Jobs              // scheduled agents
	MCP       []MCP             // MCP servers that are plugins

	source
	mode fs.FileMode // of the file, when it was read
}

// A source is where in a file something was written.
type source struct {
	file     string                               // as given to Load, for messages
	position func(path ...any) (line, column int) // nil: there is no file
}

// Sandbox is whose declarations are enforced. What the config itself grants with `capabilities` is
// enforced in every setting but off.
type Sandbox string

// The values of `sandbox`.
const (
	SandboxKaged    Sandbox = "kaged"    // kaged manifests
	SandboxDeclared Sandbox = "declared" // mine and dotagent declarations too
	SandboxOff      Sandbox = "off"      // nobody's
)

// Trust is what is done about plugins whose files are not those that patchbay.lock has.
type Trust string

// The values of `trust`.
const (
	TrustRecord Trust = "record" // new ones are recorded, changed ones are warned of
	TrustLocked Trust = "locked" // both are refused
)

// Engine is the [engine] table.
type Engine struct {
	URL         string // empty: embedded; else the address of a cluster
	Credentials string // a NATS credentials file; see [Dirs.Resolve] for this and the next three
	CA          string // PEM: who may have signed the servers' certificates
	Cert, Key   string // PEM: our own certificate, for servers that ask for one
}

// Provider is who answers as the model.
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
	Window   int    // tokens a conversation may have; 0: what is known of the model
}

// Server is the [server] table.
type Server struct {
	Listen string   // host:port
	Token  Secret   // demanded from every client; a must for any address but loopback
	Hosts  []string // names by which clients may call it, beside loopback and its own address
}

// Telemetry is the [telemetry] table.
type Telemetry struct {
	OTLP string // the address of an OpenTelemetry collector; "": nothing is exported
}

// Approve is what happens when a built-in tool that changes things is called.
type Approve string

// The values of `chat.approve`. Empty means that each surface keeps its own habit: a terminal asks,
// `-p` wants --yes, an HTTP session does not ask.
const (
	ApproveAsk  Approve = "ask"
	ApproveAuto Approve = "auto"
	ApproveDeny Approve = "deny"
)

// Compact is how a transcript that has grown too long is made shorter.
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
	NoAgentsMD bool // AGENTS.md of a project is no part of the prompt
}

// OnFailure is what a plugin's failure does to the event. Empty means the failure table decides.
type OnFailure string

// The values of `on_failure`.
const (
	FailSkip  OnFailure = "skip"  // go on as if the plugin were not there
	FailAbort OnFailure = "abort" // the event fails
	FailDeny  OnFailure = "deny"  // the event is refused
)

// Plugin is one [plugins.NAME] table. Its zero value changes nothing.
type Plugin struct {
	Enabled         *bool                   // nil: enabled
	Priority        *int                    // nil: what the plugin or its dialect says
	Timeout         time.Duration           // of a hook; 0: the dialect's deadlines
	ToolTimeout     time.Duration           // of a tool, which may rightly take longer; 0: the dialect's
	Standby         int                     // processes started ahead of their call
	Env             []string                // names or globs passed on; nil and empty differ for dialects that inherit
	OnFailure       OnFailure               // empty: the failure table
	Capabilities    []capability.Capability // nil: what the plugin declares; empty: nothing granted
	AllowUnenforced bool                    // run it even where a capability cannot be enforced
	Limits          Limits                  // what it may use
	Config          map[string]any          // JSON values (times are strings); nil: not set
}

// Limits is a [plugins.NAME.limits] table. Zero is no limit, and for what is stored the default.
type Limits struct {
	Memory      int64         // bytes
	Processes   int           // with their threads
	OpenFiles   int           // in each process
	CPUTime     time.Duration // of each process
	Output      int64         // bytes of one answer
	Storage     int64         // bytes that it stores in the host; 0: 64 MiB
	StorageKeys int           // keys that it stores them under; 0: 10,000
}

// On tells whether the plugin takes part.
func (p Plugin) On() bool { return p.Enabled == nil || *p.Enabled }

// Connect is one [[connect]] table: a plugin's hook wired to a point.
type Connect struct {
	Plugin string
	Hook   string
	Point  string
}

// MCP is one [[mcp]] table: an MCP server that is a plugin.
type MCP struct {
	Name    string
	Command []string          // the program and its arguments; nil: it is at URL
	Env     map[string]string // variables of the program; ${NAME} stands for a secret
	URL     string
	Headers map[string]string // of every request to URL; ${NAME} stands for a secret
	Prefix  string            // before the names of its tools and prompts
}

// Jobs is the [jobs] table.
type Jobs struct {
	Dirs []string // as written; nil: the default, see [Dirs.JobDirs]
}

// Default is what an absent or empty file means.
func Default() *Config {
	return &Config{
		Sandbox: SandboxKaged,
		Server:  Server{Listen: "127.0.0.1:8000"},
	}
}

// Problem is one thing wrong with a file.
type Problem = document.Problem

// Error is all that is wrong with a file.
type Error = document.Error

// File is the path the config was read from, as given to Load; empty for [Default].
func (c *Config) File() string { return c.file }

// Exposed is the problem of a file that holds a password for others to read; ok is false where it
// does not.
func (c *Config) Exposed() (p Problem, ok bool) {
	key := c.password()
	if key == "" || !sharedMode(c.mode&0o444) {
		return Problem{}, false
	}
	return Problem{File: c.file, Key: key, Message: fmt.Sprintf("holds %s, and others can read it (mode %04o)", key, c.mode.Perm()),
		Fix: "run: chmod 600 " + shellQuote(c.file)}, true
}

// password names the key that holds one; "" where none does.
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

// Problem is a complaint about the value at path (keys, and indexes into lists), for checks that
// only others can make: `c.Problem("no such point", "", "connect", 0, "point")`. Without that
// value, or without a file, the position is that of the nearest enclosing table, or none. Collect
// such problems in an [*Error].
func (c *source) Problem(message, fix string, path ...any) Problem {
	p := Problem{File: c.file, Key: document.KeyPath(path...), Message: message, Fix: fix}
	if c.position != nil {
		p.Line, p.Column = c.position(path...)
	}
	return p
}
