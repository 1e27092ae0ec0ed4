package recording

import (
	"encoding/json"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
)

// Version is the version of the format. A reader refuses any other, because making a new recording
// is easy.
const Version = 1

// The types of lines. A call has its [pluginhost.TrafficKind].
const (
	typeHeader  = "recording" // the first line
	typePlugins = "plugins"   // plugins that are not in the header, because they came later
	typeLeftOut = "left_out"  // an event or a call that is missing, and why
	typeEnd     = "end"       // the last line
)

// The limits of a recording.
const (
	maxLine    = 16 << 20
	maxFile    = 64 << 20
	maxEntries = 100_000
)

// A Header is the first line of a recording.
type Header struct {
	Type      string    `json:"type"`
	Version   int       `json:"version"`
	Patchbay  string    `json:"patchbay"` // the version that made it
	Recorded  time.Time `json:"recorded"`
	Command   []string  `json:"command"`
	Dir       string    `json:"dir"`                  // where the plugins worked
	Home      string    `json:"home"`                 // the home directory in which they were found
	PluginsOf string    `json:"plugins_of,omitempty"` // "demo": the plugins are not installed, they come with the demo
	Plugins   []Plugin  `json:"plugins"`
}

// A Plugin is a plugin that existed when the recording was made.
type Plugin struct {
	Name    string `json:"name"`
	Dialect string `json:"dialect"`
	Version string `json:"version"`
	Path    string `json:"path"`
	SHA256  string `json:"sha256,omitempty"` // of its files; "": they are too many, or cannot be read
}

// An Entry is one line: an event or a call.
type Entry struct {
	Type       string `json:"type"`
	N          int    `json:"n"`
	AtUS       int64  `json:"at_us"` // when it began, from the beginning of the recording
	DurationUS int64  `json:"duration_us"`
	Session    string `json:"session,omitempty"`
	Request    string `json:"request,omitempty"`
	Dir        string `json:"dir,omitempty"` // where the plugins worked, if it differs from the header

	Point   hook.Point      `json:"point,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
	Verdict hook.Verdict    `json:"verdict,omitempty"`
	By      string          `json:"by,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	Suggest string          `json:"suggest,omitempty"`
	Steps   []Step          `json:"steps,omitempty"`

	Plugin  string          `json:"plugin,omitempty"` // of a call
	Dialect string          `json:"dialect,omitempty"`
	Name    string          `json:"name,omitempty"` // of the tool, method or command
	Input   json.RawMessage `json:"input,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`

	Error     string    `json:"error,omitempty"`
	ErrorKind hook.Kind `json:"error_kind,omitempty"`
	Why       string    `json:"why,omitempty"` // why it was left out
}

// A Step is one plugin's part in an event.
type Step struct {
	Plugin     string          `json:"plugin"`
	Dialect    string          `json:"dialect"`
	Hook       string          `json:"hook"`
	Nth        int             `json:"nth,omitempty"` // among the plugin's hooks of that name at the point
	Connected  bool            `json:"connected,omitempty"`
	AtUS       int64           `json:"at_us"`
	DurationUS int64           `json:"duration_us"`
	Given      json.RawMessage `json:"given,omitempty"` // the payload that the plugin was given, if plugins before it had changed the event's
	Sent       json.RawMessage `json:"sent,omitempty"`
	Received   json.RawMessage `json:"received,omitempty"`
	Verdict    hook.Verdict    `json:"verdict"`
	Changed    bool            `json:"changed"`
	Diff       []hook.Change   `json:"diff,omitempty"`
	Error      string          `json:"error,omitempty"`
	ErrorKind  hook.Kind       `json:"error_kind,omitempty"`
	OnFailure  hook.Action     `json:"on_failure,omitempty"`
	Notes      []string        `json:"notes,omitempty"`
}

// An ending is the last line.
type ending struct {
	Type        string `json:"type"`
	Entries     int    `json:"entries"`
	LeftOut     int    `json:"left_out"`
	Interrupted bool   `json:"interrupted,omitempty"` // by a signal
}

// A pluginsLine has plugins that are not in the header.
type pluginsLine struct {
	Type    string   `json:"type"`
	Plugins []Plugin `json:"plugins"`
}
