package chat

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/patchbay-dev/patchbay/adapter"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// about is part of every payload of a turn.
type about = adapter.About

// A refusal is the error of a stage at which a plugin refused the turn. Run turns it into a result
// that says skipped.
type refusal struct {
	point            hook.Point
	by, why, suggest string
	failure          *hook.Error // the plugin did not refuse, but failed
}

func (e *refusal) Error() string {
	if e.failure != nil {
		return "refused, because a plugin failed: " + e.failure.Error()
	}
	return fmt.Sprintf("plugin %s refused at %s: %s", e.by, e.point, or(e.why, "no reason given"))
}

// reason returns the reason for the result.
func (e *refusal) reason() string {
	return or(e.why, fmt.Sprintf("plugin %s refused at %s", e.by, e.point))
}

// fire fires one event, and shows it to the observer if a plugin was called.
func (r *run) fire(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error) {
	out, err := r.agent.fire(ctx, point, payload)
	if out != nil && len(out.Steps) > 0 {
		trace := out.Trace()
		r.emit(Event{Type: Point, Outcome: &trace})
	}
	return out, err
}

// listens reports whether a plugin is called at a point. It reports true if the host cannot tell.
func (a *Agent) listens(ctx context.Context, point hook.Point) bool {
	host, knows := a.Host.(interface {
		Listens(ctx context.Context, point hook.Point) bool
	})
	return !knows || host.Listens(ctx, point)
}

// fire fires one event. Without a host it returns the payload as it is.
func (a *Agent) fire(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error) {
	if a.Host != nil {
		return a.Host.Fire(ctx, point, payload)
	}
	raw, err := json.Marshal(payload)
	return &hook.Outcome{Point: point, Verdict: hook.Continue, Payload: raw}, err
}

// pass fires an event that does not belong to a tool call, and returns the payload after the
// plugins changed it. A denial is returned as a [*refusal].
func (r *run) pass(ctx context.Context, point hook.Point, payload any) (hook.Object, *hook.Outcome, error) {
	out, err := r.fire(ctx, point, payload)
	if err != nil {
		return nil, out, err
	}
	if out.Verdict == hook.Deny {
		return nil, out, &refusal{point: point, by: out.By, why: out.Reason, suggest: out.Suggest, failure: out.Failure()}
	}
	fields, err := rawjson.Parse(out.Payload)
	if err != nil {
		return nil, out, fmt.Errorf("%s: the payload that came back is not an object: %w", point, err)
	}
	return fields, out, nil
}
