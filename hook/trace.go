package hook

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// An Outcome says what became of an event.
type Outcome struct {
	Point   Point
	Verdict Verdict
	Reason  string // why the event was denied or stopped
	Suggest string // what the user can do about it; it is shown, never executed
	By      string // the plugin that stopped, skipped, denied or answered the event
	Payload json.RawMessage
	Steps   []Step // one for each hook that was called, in order
}

// A Step records the call of one hook: what the plugin was sent, what it answered, what that
// changed, how long it took, and the error if it failed.
type Step struct {
	Plugin    string
	Dialect   string
	Hook      string
	For       string // what the hook is limited to, such as a pattern of commands; not in JSON
	Connected bool
	Changed   bool
	Verdict   Verdict
	Started   time.Time
	Duration  time.Duration
	Err       *Error // nil if the call succeeded
	Action    Action // what the error did to the event
	Notes     []string
	Sent      json.RawMessage
	Received  json.RawMessage

	before, after Object   // the payload before and after this step, if the step changed it
	diff          []Change // the changes of a step that was read from a trace
}

// begin records which hook is called, and when.
func (s *Step) begin(h *Hook) {
	s.Plugin, s.Dialect, s.Hook, s.For, s.Connected = h.Plugin, h.Dialect, h.Name, h.For, h.Connected
	s.Verdict, s.Started = Continue, time.Now()
}

// finish records the end of the call.
func (s *Step) finish(reply *Reply, took time.Duration, err error) {
	s.Duration = took
	s.Sent, s.Received, s.Notes = reply.Sent, reply.Received, reply.Notes
	if e, ok := errors.AsType[*Error](err); ok {
		s.Err = e
	}
}

func (s *Step) note(text string) { s.Notes = append(s.Notes, text) }

// Diff lists the changes that this step made to the payload.
func (s *Step) Diff() []Change {
	switch {
	case !s.Changed:
		return nil
	case s.before == nil && s.after == nil:
		return s.diff
	}
	return diffObjects(s.before, s.after)
}

// After returns the payload as this step left it, or nil if the step did not change it.
func (s *Step) After() json.RawMessage {
	if !s.Changed || s.after == nil {
		return nil
	}
	return s.after.JSON()
}

// Failure returns the error that ended the event, or nil if a plugin decided, or the event went on.
func (o *Outcome) Failure() *Error {
	if s := o.failedStep(); s != nil {
		return s.Err
	}
	return nil
}

// Aborted reports whether a failure ended the event with an error, as [ActionAbort] says.
func (o *Outcome) Aborted() bool {
	s := o.failedStep()
	return s != nil && s.Action == ActionAbort
}

// failedStep returns the step whose failure ended the event, or nil.
func (o *Outcome) failedStep() *Step {
	for i := range o.Steps {
		if s := &o.Steps[i]; s.Err != nil && (s.Action == ActionAbort || s.Action == ActionDeny) {
			return s
		}
	}
	return nil
}

// Began returns when the first hook was called, or the zero time if none was. At a Notify point the
// earliest step need not be the first of the list.
func (o *Outcome) Began() time.Time {
	var first time.Time
	for i := range o.Steps {
		if i == 0 || o.Steps[i].Started.Before(first) {
			first = o.Steps[i].Started
		}
	}
	return first
}

// Took returns the time from [Outcome.Began] to the end of the last call.
func (o *Outcome) Took() time.Duration {
	began, took := o.Began(), time.Duration(0)
	for i := range o.Steps {
		took = max(took, o.Steps[i].Started.Sub(began)+o.Steps[i].Duration)
	}
	return took
}

// stepJSON is the JSON form of a step.
type stepJSON struct {
	Plugin     string   `json:"plugin"`
	Dialect    string   `json:"dialect"`
	Hook       string   `json:"hook"`
	Connected  bool     `json:"connected,omitempty"`
	Verdict    Verdict  `json:"verdict"`
	Changed    bool     `json:"changed"`
	DurationUS int64    `json:"duration_us"`
	Error      *string  `json:"error"`
	ErrorKind  Kind     `json:"error_kind,omitempty"`
	OnFailure  Action   `json:"on_failure,omitempty"`
	Notes      []string `json:"notes,omitempty"`
	*traceJSON
}

// traceJSON holds the fields that a trace adds to a step. Missing values are null.
type traceJSON struct {
	StartUS  int64           `json:"start_us"` // after [Outcome.Began]
	Sent     json.RawMessage `json:"sent"`
	Received json.RawMessage `json:"received"`
	Diff     []Change        `json:"diff"`
}

type outcomeJSON struct {
	Point   Point           `json:"point"`
	Verdict Verdict         `json:"verdict"`
	Reason  string          `json:"reason"`
	Suggest string          `json:"suggest"`
	By      string          `json:"by,omitempty"`
	Payload json.RawMessage `json:"payload"`
	Steps   []stepJSON      `json:"steps"`
}

// MarshalJSON returns the outcome without the fields that [Outcome.Trace] adds.
func (o *Outcome) MarshalJSON() ([]byte, error) { return rawjson.Marshal(o.view(false)) }

// A Trace is an outcome whose JSON also has what each plugin was sent, what it returned and what it
// changed.
type Trace struct{ *Outcome }

// Trace returns the outcome with its full JSON form.
func (o *Outcome) Trace() Trace { return Trace{o} }

// MarshalJSON returns the outcome with start_us, sent, received and diff in each step.
func (t Trace) MarshalJSON() ([]byte, error) { return rawjson.Marshal(t.view(true)) }

func (o *Outcome) view(trace bool) outcomeJSON {
	v := outcomeJSON{Point: o.Point, Verdict: o.Verdict, Reason: o.Reason, Suggest: o.Suggest,
		By: o.By, Payload: o.Payload, Steps: make([]stepJSON, len(o.Steps))}
	began := o.Began()
	for i := range o.Steps {
		v.Steps[i] = o.Steps[i].view()
		if trace {
			v.Steps[i].traceJSON = o.Steps[i].trace(began)
		}
	}
	return v
}

func (s *Step) view() stepJSON {
	v := stepJSON{Plugin: s.Plugin, Dialect: s.Dialect, Hook: s.Hook, Connected: s.Connected,
		Verdict: s.Verdict, Changed: s.Changed, DurationUS: s.Duration.Microseconds(), Notes: s.Notes}
	if s.Err != nil {
		text := s.Err.Error()
		v.Error, v.ErrorKind, v.OnFailure = &text, s.Err.Kind, s.Action
	}
	return v
}

// trace returns the fields that a trace adds; began is [Outcome.Began].
func (s *Step) trace(began time.Time) *traceJSON {
	return &traceJSON{StartUS: s.Started.Sub(began).Microseconds(), Sent: s.Sent, Received: s.Received, Diff: append([]Change{}, s.Diff()...)}
}
