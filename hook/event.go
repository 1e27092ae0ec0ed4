package hook

import (
	"context"
	"encoding/json"
	"time"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// DefaultPriority is the priority of a plugin that sets none: docs/protocols/scaffold.md, row S39.
const DefaultPriority = 500

// An Object is the top level of a JSON object: fields in order, values raw and compact. Its methods
// read and replace fields: see [rawjson.Object], and the functions of that package for values.
type Object = rawjson.Object

// A Field is one member of an [Object].
type Field = rawjson.Field

// An Event is one event at a point, while the hooks of the point are called.
type Event struct {
	Point   Point
	Payload Object // as the last hook left it; read only

	raw json.RawMessage // the payload as the caller passed it; nil after a hook has changed it
}

// Encode returns an object as compact JSON, which must not be changed. If the caller passed exactly
// this text as the payload, and no hook has changed it, Encode returns that text itself. So a long
// payload is not copied only to be sent.
func (e *Event) Encode(o Object) json.RawMessage {
	if o.Is(e.raw) {
		return e.raw
	}
	return o.JSON()
}

// A Verdict says how a reply, a step or a whole event ends.
type Verdict string

// The verdicts. The zero Verdict of a Reply means Continue.
const (
	Continue Verdict = "continue" // go on; the payload may have changed
	Stop     Verdict = "stop"     // call no further hook; at points that take an answer, this is the answer
	Skip     Verdict = "skip"     // drop the event; only at points with MaySkip
	Deny     Verdict = "deny"     // refuse the event; Reason and Suggest say why
)

// A Reply is the answer of one plugin, translated by its dialect.
type Reply struct {
	Verdict Verdict
	Set     Object // payload fields to set; nil: no change
	Reason  string // why the plugin denied or stopped the event
	Suggest string // what the user can do about it; it is shown, never executed

	// For the trace only.
	Sent     json.RawMessage // what the plugin was sent, without the protocol's envelope
	Received json.RawMessage // what the plugin returned
	Notes    []string        // what was unusual, but harmless
}

// A Hook is one plugin's subscription to one point.
type Hook struct {
	Plugin  string
	Alias   string // a second name of the plugin, for a Choice; "": it has none
	Dialect string
	Name    string // the dialect's name of the hook, such as "pre_tool_execute"
	Point   Point

	Priority  int           // lower priorities are called first
	Position  int           // in the session's or the manifest's list; orders hooks of equal priority
	Timeout   time.Duration // 0: only the caller's deadline applies
	OnFailure Action        // "": the failure table decides
	Observer  bool          // its answer changes nothing; at a First point it is called even if another hook has answered
	Queue     string        // at a Notify point, hooks with the same queue are called one after another; "": at once with the others
	Connected bool          // connected to this point by the configuration, not by its own protocol
	ByName    bool          // called only if a Choice names its plugin
	Counters  *Counters     // may be nil

	// For listings only.
	For     string // what the hook is limited to, such as a pattern of commands; "": nothing
	OwnMode string // the protocol's own word for the hook's mode; "": it has none

	// Remarks, if not nil, is called after each call. It returns notes about the call that do not
	// come from the plugin, such as those of its sandbox. They are added to the notes of the step.
	Remarks func() []string

	// Match reports whether the hook wants this event; nil: every event. A hook that does not match
	// is not called, and has no step.
	Match func(ev *Event) bool

	// Call calls the plugin. It must honour ctx and be safe for concurrent use. It may keep the
	// payload of ev, but not ev itself. It may return a Reply with Sent and Received beside an
	// error.
	Call func(ctx context.Context, ev *Event) (Reply, error)
}
