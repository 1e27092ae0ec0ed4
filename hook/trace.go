package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"
)

// An Outcome is what became of an event.
type Outcome struct {
	Point   Point
	Verdict Verdict
	Reason  string // why it was denied or stopped
	Suggest string // what a person could do about it; shown, never executed
	By      string // the plugin that stopped, skipped, denied or answered it
	Payload json.RawMessage
	Steps   []Step // one for each plugin that was called, in order
}

// A Step is one plugin's part in an event: what it was sent, what it answered, what that changed,
// how long it took, what went wrong.
type Step struct {
	Plugin    string
	Dialect   string
	Hook      string
	Connected bool
	Verdict   Verdict
	Changed   bool
	Started   time.Time
	Duration  time.Duration
	Err       *Error // nil where nothing went wrong
	Action    Action // what the error did to the event
	Notes     []string
	Sent      json.RawMessage
	Received  json.RawMessage

	before, after Object   // the payload around this step, where it changed
	diff          []Change // what it changed, where that was read from a trace
}

// begin records who is asked, and when.
func (s *Step) begin(h *Hook) {
	s.Plugin, s.Dialect, s.Hook, s.Connected = h.Plugin, h.Dialect, h.Name, h.Connected
	s.Verdict, s.Started = Continue, time.Now()
}

// finish records the end of the call.
func (s *Step) finish(reply *Reply, err error) {
	s.Duration = time.Since(s.Started)
	s.Sent, s.Received, s.Notes = reply.Sent, reply.Received, reply.Notes
	if e, ok := errors.AsType[*Error](err); ok {
		s.Err = e
	}
}

func (s *Step) note(text string) { s.Notes = append(s.Notes, text) }

// Diff lists what this step changed in the payload.
func (s *Step) Diff() []Change {
	switch {
	case !s.Changed:
		return nil
	case s.before == nil && s.after == nil:
		return s.diff
	}
	return diffObjects(s.before, s.after)
}

// After is the payload as this step left it; nil: it did not change it.
func (s *Step) After() json.RawMessage {
	if !s.Changed || s.after == nil {
		return nil
	}
	return s.after.JSON()
}

// stepJSON is a step as other programs see it.
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

// traceJSON is what a trace adds to a step. Nothing sent or received is null.
type traceJSON struct {
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

// MarshalJSON gives the outcome without its trace; see [Outcome.Trace].
func (o *Outcome) MarshalJSON() ([]byte, error) { return marshal(o.view(false)) }

// A Trace is an outcome whose JSON has what each plugin was sent, what it received and what it
// changed.
type Trace struct{ *Outcome }

// Trace is the outcome with everything in it.
func (o *Outcome) Trace() Trace { return Trace{o} }

// MarshalJSON gives the outcome with sent, received and diff in each step.
func (t Trace) MarshalJSON() ([]byte, error) { return marshal(t.view(true)) }

// marshal leaves <, > and & as they are: a trace is read by people and compared by programs.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func (o *Outcome) view(trace bool) outcomeJSON {
	v := outcomeJSON{Point: o.Point, Verdict: o.Verdict, Reason: o.Reason, Suggest: o.Suggest,
		By: o.By, Payload: o.Payload, Steps: make([]stepJSON, len(o.Steps))}
	for i := range o.Steps {
		v.Steps[i] = o.Steps[i].view(trace)
	}
	return v
}

func (s *Step) view(trace bool) stepJSON {
	v := stepJSON{Plugin: s.Plugin, Dialect: s.Dialect, Hook: s.Hook, Connected: s.Connected,
		Verdict: s.Verdict, Changed: s.Changed, DurationUS: s.Duration.Microseconds(), Notes: s.Notes}
	if s.Err != nil {
		text := s.Err.Error()
		v.Error, v.ErrorKind, v.OnFailure = &text, s.Err.Kind, s.Action
	}
	if trace {
		v.traceJSON = &traceJSON{Sent: s.Sent, Received: s.Received, Diff: append([]Change{}, s.Diff()...)}
	}
	return v
}
