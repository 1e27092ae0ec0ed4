package codehook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A wish is what plugins want to happen to an event, in the agent's names.
type wish struct {
	deny    string   // why the event is refused; "": it is not
	input   raw      // the new input of the tool call; nil: no change
	result  *string  // the new text of the result for the model; nil: no change
	message *string  // the new message of the user; nil: no change
	reply   *string  // the new reply of the model; nil: no change
	system  []string // the new system prompt, in parts; nil: no change
	context string   // text to add for the model
	by      string   // the plugins that want it
	notes   []string // wishes that cannot be fulfilled, and failures
}

// longestNote limits how much of a plugin's text a note quotes.
const longestNote = 2000

func (w *wish) note(format string, args ...any) {
	w.notes = append(w.notes, cut(fmt.Sprintf(format, args...), longestNote))
}

// A firing is an event while its points are fired.
type firing struct {
	*Moment
	ctx    context.Context
	host   Host
	wish   wish
	result Result
}

// Fire fires the points of the event and encodes the result in the agent's format. If something
// fails, an event that gates something is denied, with the failure as the reason.
func (m *Moment) Fire(ctx context.Context, host Host) *Result {
	f := &firing{Moment: m, ctx: ctx, host: host}
	if len(m.event.points) > 0 {
		f.run()
	}
	f.result.Answer = m.encode(m.within(&f.wish))
	f.result.Notes = f.wish.notes
	return &f.result
}

func (f *firing) run() {
	switch f.event.kind {
	case sessionStart:
		f.sessionStart()
	case prompt:
		f.prompt()
	case system:
		f.system()
	case before:
		f.before()
	case after, failure:
		f.after()
	case reply:
		f.reply()
	case stop:
		f.stop()
	case compactBefore, compactAfter:
		f.compaction()
	case sessionEnd:
		f.fire(hook.SessionEnd, object("reason", f.text("reason")))
	}
}

// fire calls the plugins of one point. It returns the payload as they left it, and whether the
// event goes on.
func (f *firing) fire(point hook.Point, payload hook.Object) (hook.Object, *hook.Outcome, bool) {
	payload = append(payload, f.about(payload)...)
	out, err := f.host.Fire(f.ctx, point, payload.JSON())
	if out != nil {
		f.result.Outcomes = append(f.result.Outcomes, out)
	}
	if err != nil {
		f.failed(point, err)
		return nil, nil, false
	}
	if out == nil {
		f.failed(point, fmt.Errorf("%s: no outcome", point))
		return nil, nil, false
	}
	if out.Verdict == hook.Deny || out.Verdict == hook.Skip {
		f.refused(out)
		return nil, nil, false
	}
	fields, err := rawjson.Parse(out.Payload)
	if err != nil {
		f.failed(point, fmt.Errorf("%s: the payload that came back is not an object: %w", point, err))
		return nil, nil, false
	}
	if changed := changedBy(out); changed != "" {
		f.wish.by = changed
	}
	return fields, out, true
}

// about returns the fields that every payload has, without those that this payload has already.
func (f *firing) about(payload hook.Object) hook.Object {
	all := object("session_id", or(hook.Session(f.ctx), f.Session), "working_dir", f.Dir, "user_text", f.UserText,
		"host", string(f.Agent), "host_event", f.Event)
	return slices.DeleteFunc(all, func(field hook.Field) bool { return payload.Get(field.Name) != nil })
}

// failed handles a failure at a point. An event that gates something is denied, except if only the
// time ran out and no plugin must agree.
func (f *firing) failed(point hook.Point, err error) {
	f.wish.note("%v", err)
	reason := "not allowed, because plugins could not be asked: " + err.Error()
	if names, known := f.closed(point); known && f.ctx.Err() != nil {
		if len(names) == 0 {
			return
		}
		reason = "not allowed, because plugins had no answer in time, and " + strings.Join(names, ", ") + " has to agree"
	}
	if f.Gates() || f.event.kind == failure {
		f.deny(&f.wish, reason)
	}
}

// closed returns the plugins that must agree at a point, or at a later point of this event. known
// is false if the host cannot tell.
func (f *firing) closed(point hook.Point) (names []string, known bool) {
	host, known := f.host.(interface {
		Closed(point hook.Point) []string
	})
	if !known {
		return nil, false
	}
	for _, p := range f.event.points[max(0, slices.Index(f.event.points, point)):] {
		for _, name := range host.Closed(p) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, true
}

// refused handles an event that a plugin denied or dropped. At the end of a turn, only a plugin's
// own refusal counts: a plugin that failed must not keep the agent working.
func (f *firing) refused(out *hook.Outcome) {
	f.wish.by = out.By
	if f.event.kind == stop && pluginFailed(out) {
		f.wish.note("%s: %s", out.Point, out.Reason)
		return
	}
	f.deny(&f.wish, refusal(out))
}

func pluginFailed(out *hook.Outcome) bool {
	return slices.ContainsFunc(out.Steps, func(s hook.Step) bool { return s.Err != nil && s.Verdict == hook.Deny })
}

// refusal returns the text of a refusal for the model or the user.
func refusal(out *hook.Outcome) string {
	what := "refused by plugin "
	if out.Verdict == hook.Skip {
		what = "dropped by plugin "
	}
	text := what + out.By + ": " + or(out.Reason, "no reason given")
	if pluginFailed(out) {
		text = "not allowed, because a plugin that must agree failed: " + out.Reason
	}
	if out.Suggest != "" {
		text += "\nSuggestion: " + out.Suggest
	}
	return text
}

// changedBy returns the plugins that changed an event.
func changedBy(out *hook.Outcome) string {
	var names []string
	for _, s := range out.Steps {
		if s.Changed && !slices.Contains(names, s.Plugin) {
			names = append(names, s.Plugin)
		}
	}
	return strings.Join(names, ", ")
}

// deny puts a refusal into the wish. A call, a message or an answer is blocked; the text of a
// result or a reply is replaced by the reason. Other events cannot be refused.
func (m *Moment) deny(w *wish, reason string) {
	switch m.event.kind {
	case before, prompt, stop:
		w.deny = reason
	case after, failure:
		w.result = &reason
	case reply:
		w.reply = &reason
	default:
		w.note("%s cannot be refused: %s", m.Event, reason)
	}
}
