package plugindev

import (
	"encoding/json"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// A Kind says what happened.
type Kind string

// The kinds of events.
const (
	Ready        Kind = "ready"        // the plugin runs and waits
	Broken       Kind = "broken"       // it does not run; Problems says why
	Changed      Kind = "changed"      // Files have changed; the plugin is started again
	Fired        Kind = "fired"        // an event went through it: Trace, and Error if it failed
	Called       Kind = "called"       // a tool or method was called: Result, and Error if it failed
	Stderr       Kind = "stderr"       // a line that it wrote to stderr
	Logged       Kind = "log"          // a message of the host about it
	Denied       Kind = "denied"       // its sandbox refused something
	Notification Kind = "notification" // it sent a notification
	Targets      Kind = "targets"      // what can be sent to it: List
	Failure      Kind = "error"        // a command that could not be run
	Ended        Kind = "ended"        // it was ended, and nothing is left running
)

// An Event is something that happened to the plugin. As JSON it is a line of `patchbay plugin dev
// --json`.
type Event struct {
	Event Kind      `json:"event"`
	Time  time.Time `json:"time"`

	Plugin   *pluginhost.PluginInfo `json:"plugin,omitempty"`
	Reason   string                 `json:"reason,omitempty"` // why the plugin was started: start, change, restart
	Files    []string               `json:"files,omitempty"`
	Problems []dialect.Problem      `json:"problems,omitempty"`

	Target   string                 `json:"target,omitempty"`  // the point, tool or method
	Payload  json.RawMessage        `json:"payload,omitempty"` // what was sent
	Sample   bool                   `json:"sample,omitempty"`  // the payload is a sample
	Trace    *hook.Trace            `json:"outcome,omitempty"`
	Result   *pluginhost.ToolResult `json:"result,omitempty"` // of a tool
	Answer   json.RawMessage        `json:"answer,omitempty"` // of a method
	Duration time.Duration          `json:"duration_us,omitempty"`
	List     []Target               `json:"list,omitempty"`

	Level  string          `json:"level,omitempty"` // of a log line: debug, info, warning, error
	Text   string          `json:"text,omitempty"`  // the line; what was denied; the method of a notification
	Grant  string          `json:"grant,omitempty"` // the capability that would have allowed it
	Params json.RawMessage `json:"params,omitempty"`
	Error  string          `json:"error,omitempty"`
	Fix    string          `json:"fix,omitempty"`
}

// MarshalJSON writes the duration in microseconds, as the name of its field says.
func (e Event) MarshalJSON() ([]byte, error) {
	type plain Event
	e.Duration /= time.Microsecond
	return json.Marshal(plain(e))
}

// A Target is a point, tool or method that can be sent to the plugin.
type Target struct {
	Verb   string          `json:"verb"` // fire or call
	Name   string          `json:"name"` // the point, tool or method
	Hook   string          `json:"hook,omitempty"`
	For    string          `json:"for,omitempty"` // what a hook is for, such as a pattern of commands
	Sample json.RawMessage `json:"sample"`
}
