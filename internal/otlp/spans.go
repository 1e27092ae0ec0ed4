package otlp

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

// An Event is an event that was sent to plugins.
type Event struct {
	Session string
	Turn    string    // "": it belongs to no turn, and is its own trace
	End     time.Time // when it ended
	Outcome *hook.Outcome

	Clean func(text string) string // removes secrets from the words of plugins; nil: there are none
}

// Spans returns a span for each event, and below it one for each plugin that was asked. The events
// of a turn are one trace. The ids are derived from the event, so that an event that is exported
// twice has the same ids.
func Spans(events ...Event) []Span {
	var all []Span
	for i := range events {
		all = append(all, events[i].spans()...)
	}
	return all
}

func (e *Event) spans() []Span {
	steps := e.Outcome.Steps
	key := fmt.Sprintf("%q %q %d %s", e.Session, e.Turn, e.End.UnixNano(), e.Outcome.Point)
	first, began := e.Outcome.Began(), e.End.Add(-e.Outcome.Took())
	root := Span{Trace: e.trace(key), ID: spanID(key, 0), Name: string(e.Outcome.Point), Start: began, End: e.End, Attributes: e.attributes()}
	all := append(make([]Span, 0, 1+len(steps)), root)
	for i := range steps {
		s := e.step(&steps[i])
		s.Trace, s.ID, s.Parent = root.Trace, spanID(key, i+1), root.ID
		s.Start = began.Add(steps[i].Started.Sub(first))
		s.End = s.Start.Add(steps[i].Duration)
		all = append(all, s)
		if steps[i].Err != nil && steps[i].Action != hook.ActionSkip {
			all[0].Failed, all[0].Message = true, s.Message
		}
	}
	return all
}

// trace returns the id of the trace: of the turn, or of the event alone.
func (e *Event) trace(key string) (id [16]byte) {
	if e.Turn != "" {
		key = fmt.Sprintf("%q %q", e.Session, e.Turn)
	}
	sum := sha256.Sum256([]byte("patchbay trace " + key))
	copy(id[:], sum[:])
	return id
}

func spanID(key string, n int) (id [8]byte) {
	sum := sha256.Sum256(fmt.Appendf(nil, "patchbay span %d %s", n, key))
	copy(id[:], sum[:])
	return id
}

func (e *Event) attributes() []Attribute {
	o := e.Outcome
	all := []Attribute{{"patchbay.point", string(o.Point)}, {"patchbay.verdict", string(o.Verdict)}, {"patchbay.steps", int64(len(o.Steps))}}
	if spec, ok := o.Point.Spec(); ok {
		all = append(all, Attribute{"patchbay.mode", string(spec.Mode)})
	}
	for _, a := range []Attribute{{"session.id", e.Session}, {"patchbay.turn", e.Turn}, {"patchbay.by", o.By}, {"patchbay.reason", e.short(o.Reason)}} {
		if a.Value != "" {
			all = append(all, a)
		}
	}
	return all
}

// step returns the span of one step, without its ids and times.
func (e *Event) step(s *hook.Step) Span {
	span := Span{Name: s.Plugin + " " + s.Hook, Attributes: []Attribute{{"patchbay.plugin", s.Plugin}, {"patchbay.dialect", s.Dialect},
		{"patchbay.hook", s.Hook}, {"patchbay.verdict", string(s.Verdict)}, {"patchbay.changed", s.Changed}}}
	if s.Connected {
		span.Attributes = append(span.Attributes, Attribute{"patchbay.connected", true})
	}
	if s.Err != nil {
		span.Failed, span.Message = true, e.short(s.Err.Error())
		span.Attributes = append(span.Attributes, Attribute{"error.type", string(s.Err.Kind)}, Attribute{"patchbay.on_failure", string(s.Action)})
	}
	return span
}

// maxText is how much of a plugin's own text is exported.
const maxText = 1000

func (e *Event) short(text string) string {
	if e.Clean != nil {
		text = e.Clean(text)
	}
	return excerpt.Of(text, maxText)
}
