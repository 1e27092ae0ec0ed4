package hook

import (
	"context"
	"encoding/json"
	"time"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// DefaultPriority is the priority of a plugin that names none (docs/protocols/scaffold.md, row
// S39).
const DefaultPriority = 500

// An Object is the top level of a JSON object: fields in order, values raw and compact.
type Object = rawjson.Object

// A Field is one member of an [Object].
type Field = rawjson.Field

// An Event is one moment on its way through the plugins of its point.
type Event struct {
	Point   Point
	Payload Object // as the plugins before this one left it; not to be modified
}

// A Verdict is what a reply, a step or a whole event comes to.
type Verdict string

// The verdicts. The zero Verdict of a Reply means Continue.
const (
	Continue Verdict = "continue" // go on; no opinion, or the payload was changed
	Stop     Verdict = "stop"     // no further plugin is asked; where the point takes an answer, this is it
	Skip     Verdict = "skip"     // drop the event
	Deny     Verdict = "deny"     // refuse it; Reason and Suggest say why
)

// A Reply is what one plugin answered, in the hub's words.
type Reply struct {
	Verdict Verdict
	Set     Object // payload fields to replace; nil: no change
	Reason  string // why it was denied or stopped
	Suggest string // what a person could do about it; shown, never executed

	// For the trace only.
	Sent     json.RawMessage // what went to the plugin, without the protocol's envelope
	Received json.RawMessage // what came back
	Notes    []string        // what was odd but harmless
}

// A Hook is one plugin's subscription to one point.
type Hook struct {
	Plugin  string
	Alias   string // another name of the plugin's, by which it can be chosen; "": none
	Dialect string
	Name    string // the dialect's own name for it, e.g. "pre_tool_execute"
	Point   Point

	Priority  int           // lower first
	Position  int           // in the session's or the manifest's list, among equal priorities
	Timeout   time.Duration // 0: only the caller's deadline
	OnFailure Action        // "": the failure table decides
	Observer  bool          // it is told, and its answer changes nothing; at a First point it is told whoever answers
	Queue     string        // at a Notify point, hooks of one queue are told in order, each when the one before is done; "": at once
	Connected bool          // wired by the configuration, not natively
	ByName    bool          // asked only where a choice names its plugin
	Counters  *Counters     // may be nil

	// For those who list hooks.
	For     string // what it is for, as its plugin says, such as a pattern of commands; "": everything
	OwnMode string // how its protocol calls what it does, where it has a word; "": it has none

	// Remarks is asked after each call for what others than the plugin have to say of it, such as
	// its sandbox. It goes into the step's notes. May be nil.
	Remarks func() []string

	// Match tells whether the hook has anything to do with this event; nil: always. One that has
	// not is not asked and leaves no step.
	Match func(ev *Event) bool

	// Call asks the plugin. It honours ctx, is safe for concurrent use, keeps nothing of ev but its
	// payload, and may return a Reply with Sent and Received beside an error.
	Call func(ctx context.Context, ev *Event) (Reply, error)
}
