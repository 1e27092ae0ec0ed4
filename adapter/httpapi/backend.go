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

// A Backend provides what the routes serve, one part for each topic. If a part is nil, its routes
// do not exist.
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

	Shapes Shapes // what the JSON of the parts looks like
}

// Sources manages the plugins that are source text: those of the python dialect. Names have been
// checked against the pattern of the dialect.
type Sources interface {
	List(ctx context.Context) ([]Source, error)                         // without Content
	Get(ctx context.Context, name string) (Source, error)               // ErrNoPlugin
	Save(ctx context.Context, name, content string) (Source, error)     // *InvalidCodeError
	Delete(ctx context.Context, name string) error                      // ErrNoPlugin
	Reload(ctx context.Context, name string) (Source, error)            // ErrNoPlugin, *InvalidCodeError
	Validate(ctx context.Context, name, content string) (Source, error) // *InvalidCodeError
	Parse(ctx context.Context, content string) (SourceCheck, error)     // never runs the code; *UnavailableError
}

// A SourceCheck says whether a text could be a plugin, as far as that is known without running it.
type SourceCheck struct {
	OK      bool   `json:"ok" doc:"Whether the code can be parsed and has no error that is visible without running it." example:"false"`
	Line    int    `json:"line" doc:"The line of the error, from 1; 0 if there is no error, or if it is about the whole text." example:"3"`
	Column  int    `json:"column" doc:"The column of the error, from 1; 0 if there is no error, or if it is about the whole text." example:"11"`
	Message string `json:"message" doc:"The error; empty if there is none." example:"SyntaxError: invalid syntax"`
}

// A Source is one plugin with its source text.
type Source struct {
	Name     string
	Path     string
	Hooks    []string        // in lifecycle order
	Metadata json.RawMessage // an object; nil: {}
	Content  string
	Error    string // why it does not load; "": it loads

	// Only of code that was checked or saved:
	Warnings []string // what in it has no effect, or could not be checked
}

// Features reads and sets the flags that switch parts of the daemon on and off.
type Features interface {
	List(ctx context.Context) ([]feature.Feature, error)
	Get(ctx context.Context, name string) (feature.Feature, error)               // feature.ErrUnknown
	Set(ctx context.Context, name string, enabled bool) (feature.Feature, error) // feature.ErrUnknown
}

// Sessions manages conversations. The methods return session.ErrNotFound for a session that does
// not exist, and *UnknownPluginsError for plugins that do not exist.
type Sessions interface {
	Create(ctx context.Context, r SessionRequest) (session.Session, error)
	List(ctx context.Context) ([]session.Session, error)
	Page(ctx context.Context, r session.PageRequest) (session.Page, error) // session.ErrCursor
	Get(ctx context.Context, id string) (session.Session, error)
	Update(ctx context.Context, id string, u SessionUpdate) (session.Session, error)
	Delete(ctx context.Context, id string) error
	Transcript(ctx context.Context, id string) ([]session.Entry, error)
}

// A SessionRequest holds the values of a new session.
type SessionRequest struct {
	Plugins    []string
	WorkingDir string // "": the daemon's directory
	Title      string
}

// A SessionUpdate holds the changes of a session; nil fields are not changed.
type SessionUpdate struct {
	Title   *string
	Plugins *[]string
}

// Turns runs the agent.
type Turns interface {
	// Run sends one message of the user to the agent and returns what `chat -p --json` prints. If
	// observe is not nil, it is called with each event as it happens, one at a time, and not after
	// Run has returned. The turn is interrupted when ctx ends. Errors: session.ErrNotFound,
	// *session.BusyError.
	Run(ctx context.Context, sessionID, text string, observe func(kind string, event json.RawMessage)) (json.RawMessage, error)
	// Interrupt ends the turn of a session, and reports whether there was one.
	Interrupt(ctx context.Context, sessionID string) (bool, error)
}

// Inspect reports the state of plugins and events. A value of type any is encoded to JSON, in the
// form that the command line prints with --json; [Shapes] has its type.
type Inspect interface {
	Plugins(ctx context.Context) (any, error)                     // `plugin list`
	Plugin(ctx context.Context, name string) (any, error)         // `plugin info`; ErrNoPlugin
	Latencies(ctx context.Context) (Latencies, error)             // of all plugins
	Tools(ctx context.Context) (any, error)                       // `tool list`
	Doctor(ctx context.Context) (any, error)                      // `doctor`
	Traces(ctx context.Context, f TraceFilter) (TracePage, error) // *InvalidRequestError
	Trace(ctx context.Context, id uint64) (TraceView, error)      // ErrNoTrace
	Turns(ctx context.Context, f TurnFilter) (TurnPage, error)
	// Recording writes the events of a turn as the file that `trace replay` reads. If it returns
	// ErrNoTurn it has written nothing.
	Recording(ctx context.Context, session, turn string, to io.Writer) error
	Pipeline(ctx context.Context) (any, error)
	Health(ctx context.Context) (report any, ok bool)
}

// Latencies holds how long the last calls of plugins took.
type Latencies struct {
	Plugins map[string][]uint32 `json:"plugins" doc:"Microseconds by the plugin's name, the oldest call first. If two plugins have the same name, the second is DIALECT:NAME." example:"{\"words\":[412,388,1024]}"`
}

// A TraceFilter selects traces; empty fields select all.
type TraceFilter struct {
	Session string
	Turn    string
	Point   string
	Plugin  string // one that was called
	Host    string // where the session came from
	Failed  bool   // only those in which a plugin failed
	Brief   bool   // without payloads, and without what plugins were sent and answered
	Page           // its limit is at least 1
}

// A TurnFilter selects turns.
type TurnFilter struct {
	Session string // "": all
	Page           // its limit is at least 1
}

// Calls are the calls that a client can make by hand.
type Calls interface {
	// CallTool calls a tool, as `tool call` does. If trace is set, a call without an answer is a
	// result too. ErrNoTool.
	CallTool(ctx context.Context, name string, arguments json.RawMessage, trace bool) (ToolResult, error)
	Fire(ctx context.Context, point hook.Point, data json.RawMessage, trace bool) (Outcome, error) // `fire`
}

// A ToolResult is the result of a tool call, in the form of `tool call --json`.
type ToolResult struct {
	Tool    string  `json:"tool" doc:"The tool." example:"plugin_words_count"`
	Success bool    `json:"success" doc:"Whether it succeeded." example:"true"`
	Result  string  `json:"result" doc:"What it answered." example:"2"`
	Error   *string `json:"error" doc:"How it failed; null if it succeeded." example:"no such file"`
	Step    *Step   `json:"step,omitempty" doc:"With trace: what the plugin was sent, what it answered, and how long it took."`
}

// Events is the stream of everything that happens, in the engine's sequence.
type Events interface {
	// Range returns the first and the last sequence number; 0, 0: there are no events.
	Range(ctx context.Context) (first, last uint64, err error)
	// Follow calls each with every stored event after a sequence number, then with each new one,
	// one at a time. It returns when ctx ends, or when each returns an error, which it returns.
	Follow(ctx context.Context, f EventFilter, each func(Event) error) error
}

// An EventFilter selects events.
type EventFilter struct {
	After   uint64
	Session string // "": all
}

// An Event is one thing that happened.
type Event struct {
	ID   uint64
	Kind string
	Data json.RawMessage
}

// Errors of a backend that clients see. Routes add the name from the request.
var (
	ErrNoPlugin = errors.New("no such plugin")
	ErrNoTool   = errors.New("no such tool")
	ErrNoTrace  = errors.New("no such trace")
	ErrNoTurn   = errors.New("no such turn")
)

// An InvalidCodeError says that a source text is not a valid plugin.
type InvalidCodeError struct {
	Reason string // such as `SyntaxError: …`
}

func (e *InvalidCodeError) Error() string { return "invalid plugin code: " + e.Reason }

// An InvalidNameError says that a plugin cannot have this name.
type InvalidNameError struct {
	Name string
}

func (e *InvalidNameError) Error() string {
	return fmt.Sprintf("invalid plugin name: %s", quote(e.Name))
}

// An UnknownPluginsError says that a session names plugins that do not exist.
type UnknownPluginsError struct {
	Names []string
}

func (e *UnknownPluginsError) Error() string {
	return "unknown plugins: " + strings.Join(e.Names, ", ")
}

// An InvalidRequestError is any other mistake in a request. The client gets the reason.
type InvalidRequestError struct {
	Reason string
}

func (e *InvalidRequestError) Error() string { return e.Reason }

// An UnavailableError says that something is not available at the moment, such as a Python
// interpreter. The client gets the reason.
type UnavailableError struct {
	Reason string
}

func (e *UnavailableError) Error() string { return e.Reason }
