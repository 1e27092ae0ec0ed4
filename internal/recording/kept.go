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

// A Kept is an event as the journal keeps it: with what each plugin was sent, answered and changed,
// and the payload as the last one left it. What each was given is worked out from that; see
// [givenBefore].
type Kept struct {
	Session string
	Request string
	Dir     string // where the plugins worked; "": unknown
	Began   time.Time
	Took    time.Duration
	Outcome *hook.Outcome // its first step begins at the zero time
	Lacks   string        // why it is not whole; "": it is
}

// A Place is what a recording of kept events says of where it was made.
type Place struct {
	Host    *pluginhost.Host // whose secrets are taken out
	Plugins []Plugin         // which there are now: what they were like at the time of an event is not kept
}

// NewSaver is a recorder of kept events to somebody's stream. Nothing is written before the first
// event.
func NewSaver(to io.Writer, o Options) *Recorder { return newRecorder(to, o) }

// Keep writes a kept event down. One about which no plugin was asked is no traffic. It never fails,
// as [Recorder.Record].
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

// Err is the error of the first line that could not be written; after it nothing is.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.writeErr
}

// keptEntry is a kept event as it is written down, without its number. One that is not whole is
// left out.
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
		err = e.check() // the reader must not refuse the others because of it
	}
	if err != nil {
		return Entry{Type: typeLeftOut, AtUS: e.AtUS, Point: o.Point, Why: s.text(err.Error())}
	}
	return e
}

// givenBefore works out the event's first payload, and the one that each step was given where it is
// another: what the steps changed is undone, the last change first. It is an error where the
// changes do not fit the payload.
func givenBefore(o *hook.Outcome) (first json.RawMessage, given []json.RawMessage, err error) {
	given, first = make([]json.RawMessage, len(o.Steps)), o.Payload
	for i, step := range slices.Backward(o.Steps) {
		if step.Changed {
			if first, err = undo(first, step.Diff()); err != nil {
				return nil, nil, fmt.Errorf("what plugin %s was given cannot be worked out: %w", step.Plugin, err)
			}
		}
		given[i] = first
	}
	for i := range given { // up to the first change it is the event's
		given[i] = nil
		if o.Steps[i].Changed {
			break
		}
	}
	return first, given, nil
}
