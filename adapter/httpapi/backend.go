package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/feature"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// A Backend is what the routes speak for, one part a topic. The routes of a part that is nil do not
// exist.
type Backend struct {
	Sources  Sources
	Features Features
	Sessions Sessions
	Turns    Turns
	Inspect  Inspect
	Calls    Calls
	Plugins  Plugins
	Events   Events
	Jobs     Jobs
	Hooks    Hooks
	Yielder  Yielder
	Daemon   Daemon

	Configuration Configuration
	Logs          Logs
}

// Sources are the plugins that are kept as source text: those of the python dialect. Names that
// reach it have passed the pattern of the dialect.
type Sources interface {
	List(ctx context.Context) ([]Source, error)                              // without Content
	Get(ctx context.Context, name string) (Source, error)                    // ErrNoPlugin
	Save(ctx context.Context, name, content string) (path string, err error) // *InvalidCodeError
	Delete(ctx context.Context, name string) error                           // ErrNoPlugin
	Reload(ctx context.Context, name string) (Source, error)                 // ErrNoPlugin, *InvalidCodeError
	Validate(ctx context.Context, name, content string) (Source, error)      // *InvalidCodeError
	Parse(ctx context.Context, content string) (SourceCheck, error)          // never runs it; *UnavailableError
}

// A SourceCheck says whether a text could be a plugin, as far as can be told without running it.
type SourceCheck struct {
	OK      bool   `json:"ok" doc:"Whether it is Python, and nothing about it is wrong that can be told by looking." example:"false"`
	Line    int    `json:"line" doc:"Where it is wrong, from 1; 0 where it is not, or as a whole." example:"3"`
	Column  int    `json:"column" doc:"From 1; 0 where it is not wrong, or as a whole." example:"11"`
	Message string `json:"message" doc:"What is wrong; empty where nothing is." example:"SyntaxError: invalid syntax"`
}

// A Source is one plugin with its source text.
type Source struct {
	Name     string
	Path     string
	Hooks    []string        // in lifecycle order
	Metadata json.RawMessage // an object; nil: {}
	Content  string
	Error    string // why it does not load; "": it does
}

// Features are the flags that switch parts of the daemon on and off.
type Features interface {
	List(ctx context.Context) ([]feature.Feature, error)
	Get(ctx context.Context, name string) (feature.Feature, error)               // feature.ErrUnknown
	Set(ctx context.Context, name string, enabled bool) (feature.Feature, error) // feature.ErrUnknown
}

// Sessions are the conversations. They return session.ErrNotFound for one that is not there, and
// *UnknownPluginsError for plugins that are not.
type Sessions interface {
	Create(ctx context.Context, r SessionRequest) (session.Session, error)
	List(ctx context.Context) ([]session.Session, error)
	Page(ctx context.Context, r session.PageRequest) (session.Page, error) // session.ErrCursor
	Get(ctx context.Context, id string) (session.Session, error)
	Update(ctx context.Context, id string, u SessionUpdate) (session.Session, error)
	Delete(ctx context.Context, id string) error
	Transcript(ctx context.Context, id string) ([]session.Entry, error)
}

// A SessionRequest says what a new session is to be.
type SessionRequest struct {
	Plugins    []string
	WorkingDir string // "": the daemon's
	Title      string
}

// A SessionUpdate says what is to change; nil stays as it is.
type SessionUpdate struct {
	Title   *string
	Plugins *[]string
}

// Turns runs the agent.
type Turns interface {
	// Run takes one message of the user's through the agent and returns what `chat -p --json`
	// prints. Where observe is not nil, it is told each event as it happens, one at a time and not
	// after Run has returned. The turn is interrupted when ctx ends. Errors: session.ErrNotFound,
	// *session.BusyError.
	Run(ctx context.Context, sessionID, text string, observe func(kind string, event json.RawMessage)) (json.RawMessage, error)
	// Interrupt ends the session's turn, and says whether there was one.
	Interrupt(ctx context.Context, sessionID string) (bool, error)
}

// Inspect tells how things stand. Whatever is returned as any is encoded to JSON, in the shape that
// the command line prints with --json.
type Inspect interface {
	Plugins(ctx context.Context) (any, error)               // `plugin list`
	Plugin(ctx context.Context, name string) (any, error)   // `plugin info`; ErrNoPlugin
	Latencies(ctx context.Context) (Latencies, error)       // of every plugin
	Tools(ctx context.Context) (any, error)                 // `tool list`
	Doctor(ctx context.Context) (any, error)                // `doctor`
	Traces(ctx context.Context, f TraceFilter) (any, error) // {traces, next}, the newest first; *InvalidRequestError
	Trace(ctx context.Context, id uint64) (any, error)      // a TraceView; ErrNoTrace
	Turns(ctx context.Context, f TurnFilter) (TurnPage, error)
	// Recording writes the events of a turn as the file that `trace replay` reads. Nothing is
	// written beside ErrNoTurn.
	Recording(ctx context.Context, session, turn string, to io.Writer) error
	Pipeline(ctx context.Context) (Pipeline, error)
	Health(ctx context.Context) (report any, ok bool)
}

// Latencies are how long the last calls of plugins took.
type Latencies struct {
	Plugins map[string][]uint32 `json:"plugins" doc:"Microseconds by the plugin's name, the oldest call first; of two plugins of one name the second has its dialect before it." example:"{\"words\":[412,388,1024]}"`
}

// A TraceFilter says which traces are wanted; empty fields want all.
type TraceFilter struct {
	Session string
	Turn    string
	Point   string
	Plugin  string // that was asked
	Host    string // where the session came from
	Failed  bool   // those in which a plugin failed
	Brief   bool   // without payloads, and what plugins were sent and answered
	Page           // its limit is at least 1
}

// A TurnFilter says which turns are wanted.
type TurnFilter struct {
	Session string // "": of all
	Page           // its limit is at least 1
}

// Calls are what can be done by hand.
type Calls interface {
	// CallTool calls a tool: `tool call`. With trace, a call to which the plugin gave no answer is
	// a result too. ErrNoTool.
	CallTool(ctx context.Context, name string, arguments json.RawMessage, trace bool) (ToolResult, error)
	Fire(ctx context.Context, point hook.Point, data json.RawMessage, trace bool) (any, error) // `fire`
}

// A ToolResult is what a tool call came to, as `tool call --json` prints it.
type ToolResult struct {
	_       struct{} `additionalProperties:"true"`
	Tool    string   `json:"tool"`
	Success bool     `json:"success"`
	Result  string   `json:"result"`
	Error   *string  `json:"error"` // null where it succeeded
	Step    *Step    `json:"step,omitempty" doc:"The plugin's part in the call, where trace was asked for: what it was sent, what it answered, how long it took."`
}

// Events is the stream of all that happens, in the engine's sequence.
type Events interface {
	// Range is the first and the last sequence number that there is; 0, 0: none.
	Range(ctx context.Context) (first, last uint64, err error)
	// Follow calls f with each event after a sequence number, then with each as it comes, one at a
	// time, until ctx ends or f returns an error, which it returns.
	Follow(ctx context.Context, f EventFilter, each func(Event) error) error
}

// An EventFilter says which events are wanted.
type EventFilter struct {
	After   uint64
	Session string // "": of all
}

// An Event is one thing that happened.
type Event struct {
	ID   uint64
	Kind string
	Data json.RawMessage
}

// The errors of a backend that are answers. Routes add the name that was asked for.
var (
	ErrNoPlugin = errors.New("no such plugin")
	ErrNoTool   = errors.New("no such tool")
	ErrNoTrace  = errors.New("no such trace")
	ErrNoTurn   = errors.New("no such turn")
)

// An InvalidCodeError says that source text is not a plugin.
type InvalidCodeError struct {
	Reason string // such as `SyntaxError: …`
}

func (e *InvalidCodeError) Error() string { return "invalid plugin code: " + e.Reason }

// An InvalidNameError says that a name cannot be a plugin's.
type InvalidNameError struct {
	Name string
}

func (e *InvalidNameError) Error() string {
	return fmt.Sprintf("invalid plugin name: %s", quote(e.Name))
}

// An UnknownPluginsError says that a session asks for plugins that are not there.
type UnknownPluginsError struct {
	Names []string
}

func (e *UnknownPluginsError) Error() string {
	return "unknown plugins: " + strings.Join(e.Names, ", ")
}

// An InvalidRequestError is any other fault of the client's; it is told the reason.
type InvalidRequestError struct {
	Reason string
}

func (e *InvalidRequestError) Error() string { return e.Reason }

// An UnavailableError says that something is not to be had at the moment, such as a Python
// interpreter; the client is told the reason.
type UnavailableError struct {
	Reason string
}

func (e *UnavailableError) Error() string { return e.Reason }
