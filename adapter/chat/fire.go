package chat

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/patchbay-dev/patchbay/adapter"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// about is embedded in the payloads of a turn.
type about = adapter.About

// A refusal is a plugin's no to the turn. It travels up the stages as an error and ends there: to
// the caller it is a result.
type refusal struct {
	point            hook.Point
	by, why, suggest string
}

func (e *refusal) Error() string {
	return fmt.Sprintf("plugin %s refused at %s: %s", e.by, e.point, or(e.why, "no reason given"))
}

// reason is what the result says.
func (e *refusal) reason() string {
	return or(e.why, fmt.Sprintf("plugin %s refused at %s", e.by, e.point))
}

// fire takes one event through the plugins and shows it to the observer, unless nobody was asked.
func (r *run) fire(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error) {
	out, err := r.agent.fire(ctx, point, payload)
	if out != nil && len(out.Steps) > 0 {
		trace := out.Trace()
		r.emit(Event{Type: Point, Outcome: &trace})
	}
	return out, err
}

// listens tells whether a point is worth firing. A host that does not know is asked.
func (a *Agent) listens(ctx context.Context, point hook.Point) bool {
	host, knows := a.Host.(interface {
		Listens(ctx context.Context, point hook.Point) bool
	})
	return !knows || host.Listens(ctx, point)
}

// fire allows for an agent without plugins.
func (a *Agent) fire(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error) {
	if a.Host != nil {
		return a.Host.Fire(ctx, point, payload)
	}
	raw, err := json.Marshal(payload)
	return &hook.Outcome{Point: point, Verdict: hook.Continue, Payload: raw}, err
}

// pass takes an event of the turn itself through the plugins and returns the payload as they left
// it. A denial is a [*refusal].
func (r *run) pass(ctx context.Context, point hook.Point, payload any) (hook.Object, *hook.Outcome, error) {
	out, err := r.fire(ctx, point, payload)
	if err != nil {
		return nil, out, err
	}
	if out.Verdict == hook.Deny {
		return nil, out, &refusal{point: point, by: out.By, why: out.Reason, suggest: out.Suggest}
	}
	fields, err := rawjson.Parse(out.Payload)
	if err != nil {
		return nil, out, fmt.Errorf("%s: the payload came back as no object: %w", point, err)
	}
	return fields, out, nil
}
