package recording

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// newEntry returns traffic in the form of an entry, without its number.
func newEntry(t *pluginhost.Traffic, began time.Time, s *scrubber) Entry {
	e := Entry{Type: string(t.Kind), AtUS: t.Began.Sub(began).Microseconds(), DurationUS: t.Took.Microseconds(),
		Session: t.Session, Request: t.Request, Dir: t.Host.Dir(), Plugin: t.Plugin, Dialect: t.Dialect, Name: t.Name,
		Input: s.json(t.Input), Result: s.json(t.Result)}
	if t.Err != nil {
		e.Error, e.ErrorKind = s.text(t.Err.Error()), kindOf(t.Err)
	}
	if o := t.Outcome; o != nil {
		e.Point, e.Payload, e.Verdict, e.By = t.Point, s.json(object(t.Payload)), o.Verdict, o.By
		e.Reason, e.Suggest, e.Steps = s.text(o.Reason), s.text(o.Suggest), newSteps(o, given(o), began, s)
	}
	return e
}

// given returns the payload that each step was given; nil means the event's own.
func given(o *hook.Outcome) []json.RawMessage {
	all := make([]json.RawMessage, len(o.Steps))
	var last json.RawMessage
	for i := range o.Steps {
		all[i] = last
		if after := o.Steps[i].After(); after != nil {
			last = after
		}
	}
	return all
}

// newSteps converts the steps. A step has the payload that it was given if that is not the event's.
func newSteps(o *hook.Outcome, given []json.RawMessage, began time.Time, s *scrubber) []Step {
	steps := make([]Step, len(o.Steps))
	counts := make(map[pluginhost.Which]int) // hooks of one name that a plugin has at the point
	for i := range o.Steps {
		from := &o.Steps[i]
		steps[i] = newStep(from, s)
		steps[i].AtUS, steps[i].Given = from.Started.Sub(began).Microseconds(), s.json(given[i])
		who := pluginhost.Which{Plugin: from.Plugin, Dialect: from.Dialect, Hook: from.Hook}
		steps[i].Nth = counts[who]
		counts[who]++
	}
	return steps
}

func newStep(from *hook.Step, s *scrubber) Step {
	step := Step{Plugin: from.Plugin, Dialect: from.Dialect, Hook: from.Hook, Connected: from.Connected,
		DurationUS: from.Duration.Microseconds(), Sent: s.json(from.Sent), Received: s.json(from.Received),
		Verdict: from.Verdict, Changed: from.Changed, Diff: s.changes(from.Diff())}
	for _, note := range from.Notes {
		step.Notes = append(step.Notes, s.text(note))
	}
	if from.Err != nil {
		step.Error, step.ErrorKind, step.OnFailure = s.text(from.Err.Error()), from.Err.Kind, from.Action
	}
	return step
}

// object returns a payload, or an empty object if there is none.
func object(payload json.RawMessage) json.RawMessage {
	if len(payload) == 0 {
		return json.RawMessage("{}")
	}
	return payload
}

func kindOf(err error) hook.Kind {
	if e, ok := errors.AsType[*hook.Error](err); ok {
		return e.Kind
	}
	return ""
}
