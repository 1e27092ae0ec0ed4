package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// A Kept is an event of the journal. It has what each plugin was sent, answered and changed, and
// the payload after the last one. [givenBefore] derives from these what each plugin was given.
type Kept struct {
	Session string
	Request string
	Dir     string // where the plugins worked; "": unknown
	Began   time.Time
	Took    time.Duration
	Outcome *hook.Outcome // its first step begins at the zero time
	Lacks   string        // why it is incomplete; "": it is complete
}

// A Place says where a recording of kept events was made.
type Place struct {
	Host    *pluginhost.Host // whose secrets are removed
	Plugins []Plugin         // the present plugins: the journal does not store the plugins of an event's time
}

// NewSaver returns a recorder that writes kept events to a stream. It writes nothing before the
// first event.
func NewSaver(to io.Writer, o Options) *Recorder { return newRecorder(to, o) }

// Keep writes a kept event. It ignores events without steps. Like [Recorder.Record] it never fails.
func (r *Recorder) Keep(k *Kept, at *Place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writeErr != nil || r.to == nil || len(k.Outcome.Steps) == 0 {
		return
	}
	s := r.scrubber(at.Host.Hidden())
	if !r.headed {
		r.began = k.Began
		r.header.Recorded = k.Began.UTC().Truncate(time.Second)
		r.header.Dir, r.header.Home, r.header.Plugins = k.Dir, at.Host.Home(), append(r.header.Plugins, at.Plugins...)
		r.writeHeader(s)
	}
	r.add(keptEntry(k, r.began, s))
}

// Err returns the error of the first line that could not be written. No line after it is written.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.writeErr
}

// keptEntry returns a kept event as an entry, without its number. An incomplete event becomes a
// left-out entry.
func keptEntry(k *Kept, began time.Time, s *scrubber) Entry {
	o, at := k.Outcome, k.Began.Sub(began)
	e := Entry{Type: string(pluginhost.EventTraffic), AtUS: at.Microseconds(), DurationUS: k.Took.Microseconds(), Session: k.Session,
		Request: k.Request, Dir: k.Dir, Point: o.Point, Verdict: o.Verdict, By: o.By, Reason: s.text(o.Reason), Suggest: s.text(o.Suggest)}
	first, given, err := json.RawMessage(nil), []json.RawMessage(nil), error(nil)
	if k.Lacks != "" {
		err = errors.New(k.Lacks)
	} else {
		first, given, err = givenBefore(o)
	}
	if err == nil {
		e.Payload, e.Steps = s.json(object(first)), newSteps(o, given, time.Time{}.Add(-at), s)
		err = e.check() // a reader would refuse the whole file because of it
	}
	if err != nil {
		return Entry{Type: typeLeftOut, AtUS: e.AtUS, Point: o.Point, Why: s.text(err.Error())}
	}
	return e
}

// givenBefore derives the event's first payload, and the payload that each step was given if it
// differs. It undoes the changes of the steps, the last first. It returns an error if the changes
// do not fit the payload.
func givenBefore(o *hook.Outcome) (first json.RawMessage, given []json.RawMessage, err error) {
	given, first = make([]json.RawMessage, len(o.Steps)), o.Payload
	for i, step := range slices.Backward(o.Steps) {
		if step.Changed {
			if first, err = undo(first, step.Diff()); err != nil {
				return nil, nil, fmt.Errorf("what plugin %s was given cannot be derived: %w", step.Plugin, err)
			}
		}
		given[i] = first
	}
	for i := range given { // up to the first change it is the event's own payload
		given[i] = nil
		if o.Steps[i].Changed {
			break
		}
	}
	return first, given, nil
}
