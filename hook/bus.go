package hook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// ErrUnknownPoint is returned by Fire for a point that does not exist.
var ErrUnknownPoint = errors.New("unknown point")

// ErrBadPayload is returned by Fire for a payload that is not a JSON object.
var ErrBadPayload = errors.New("payload is not a JSON object")

// A Bus carries events to the hooks of their point. The zero Bus has no hooks. It is safe for
// concurrent use.
type Bus struct {
	// Failures decides what a failing plugin does to an event. It is set before the first event.
	Failures FailureTable

	own   map[Point]*Spec                   // points beside the built-in ones
	hooks atomic.Pointer[map[Point][]*Hook] // ordered; replaced as a whole, never changed
}

// Declare adds a point of the host's own. Its mode and its fields are those of the built-in point
// that it is like. Points are declared before the first [Bus.Set].
func (b *Bus) Declare(p, like Point, doc string) error {
	spec := like.spec()
	switch {
	case spec == nil:
		return fmt.Errorf("point %q: %w %q, which it is to be like", p, ErrUnknownPoint, like)
	case p == "" || b.spec(p) != nil:
		return fmt.Errorf("point %q: that name is taken, or none", p)
	}
	own := *spec
	own.Point, own.Doc = p, doc
	if b.own == nil {
		b.own = make(map[Point]*Spec)
	}
	b.own[p] = &own
	return nil
}

// Spec returns what is fixed about a point, built-in or declared; ok is false where there is no
// such point.
func (b *Bus) Spec(p Point) (spec Spec, ok bool) {
	if s := b.spec(p); s != nil {
		return *s, true
	}
	return Spec{}, false
}

func (b *Bus) spec(p Point) *Spec {
	if s := p.spec(); s != nil {
		return s
	}
	return b.own[p]
}

// Set replaces all hooks. Order within a point, computed here once: priority (lower first), then
// position, then name.
func (b *Bus) Set(hooks []Hook) error {
	byPoint := make(map[Point][]*Hook)
	for i := range hooks {
		h := &hooks[i]
		if b.spec(h.Point) == nil {
			return fmt.Errorf("%w %q (plugin %s, hook %s)", ErrUnknownPoint, h.Point, h.Plugin, h.Name)
		}
		byPoint[h.Point] = append(byPoint[h.Point], h)
	}
	for _, list := range byPoint {
		slices.SortStableFunc(list, order)
	}
	b.hooks.Store(&byPoint)
	return nil
}

func order(a, b *Hook) int {
	return cmp.Or(
		cmp.Compare(a.Priority, b.Priority),
		cmp.Compare(a.Position, b.Position),
		cmp.Compare(a.Plugin, b.Plugin),
	)
}

// Hooks lists the hooks of a point in the order in which they are asked.
func (b *Bus) Hooks(p Point) []*Hook {
	all := b.hooks.Load()
	if all == nil {
		return nil
	}
	return (*all)[p]
}

// Fire takes one event through the plugins of its point. The payload is a JSON object; nil stands
// for an empty one. It is not to be changed afterwards: the outcome refers to it. The outcome is
// there even when the error is not nil, as far as the event got.
func (b *Bus) Fire(ctx context.Context, p Point, payload json.RawMessage) (*Outcome, error) {
	f, err := b.firing(p, payload)
	if err != nil {
		return nil, err
	}
	return f.fire(ctx, takingPart(ctx, b.Hooks(p)), payload)
}

// Ask takes one event to one hook of its point alone, as if no other plugin were there: for those
// who play recorded events again. A hook that has nothing to do with the event leaves no step.
func (b *Bus) Ask(ctx context.Context, h *Hook, payload json.RawMessage) (*Outcome, error) {
	f, err := b.firing(h.Point, payload)
	if err != nil {
		return nil, err
	}
	return f.fire(ctx, []*Hook{h}, payload)
}

// firing is an event at p that is about to begin.
func (b *Bus) firing(p Point, payload json.RawMessage) (*firing, error) {
	spec := b.spec(p)
	if spec == nil {
		return nil, fmt.Errorf("%w %q", ErrUnknownPoint, p)
	}
	object, err := parsePayload(payload)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", p, ErrBadPayload, err)
	}
	return &firing{failures: b.Failures, spec: spec, event: Event{Point: p, Payload: object}, out: Outcome{Point: p, Verdict: Continue}}, nil
}

// fire takes the event through these hooks. payload is the event's, as it was given.
func (f *firing) fire(ctx context.Context, hooks []*Hook, payload json.RawMessage) (*Outcome, error) {
	f.out.Steps = f.room[:0]
	if len(hooks) > len(f.room) {
		f.out.Steps = make([]Step, 0, len(hooks)) // whole at once: a step is filled in where it lies
	}
	err := f.run(ctx, hooks)
	f.out.Payload = payload
	if !f.event.Payload.Is(payload) {
		f.out.Payload = f.event.Payload.JSON()
	}
	return &f.out, err
}

// Wants tells whether any hook would be asked at p with this payload, as far as the payload
// decides.
func (b *Bus) Wants(p Point, payload json.RawMessage) bool {
	object, err := parsePayload(payload)
	if err != nil {
		return false
	}
	f := firing{event: Event{Point: p, Payload: object}}
	return slices.ContainsFunc(withoutByName(b.Hooks(p)), f.matches)
}

// Listens tells whether any hook of a point takes part by what the context says. Where none does,
// firing the point changes nothing, and a host need not put its payload together.
func (b *Bus) Listens(ctx context.Context, p Point) bool { return len(takingPart(ctx, b.Hooks(p))) > 0 }

// Alters tells whether a hook takes part at p, by what ctx says, that can change what becomes of
// the event. An observer cannot, unless its failure would.
func (b *Bus) Alters(ctx context.Context, p Point) bool {
	return slices.ContainsFunc(takingPart(ctx, b.Hooks(p)), (*Hook).alters)
}

func (h *Hook) alters() bool {
	return !h.Observer || h.OnFailure != "" && h.OnFailure != ActionSkip
}

// Closed names the plugins without which an event at p does not go on: where one of them cannot be
// asked, the event is refused. It is what the failure table, or the operator, says of a plugin that
// is not running; that a hook may have nothing to do with an event is not known before there is
// one.
func (b *Bus) Closed(p Point) []string {
	spec := b.spec(p)
	if spec == nil {
		return nil
	}
	var names []string
	for _, h := range withoutByName(b.Hooks(p)) {
		if b.Failures.failureAction(h, spec.Mode, Unavailable) != ActionSkip && !slices.Contains(names, h.Plugin) {
			names = append(names, h.Plugin)
		}
	}
	return names
}

// maxPayload is how deep an event's payload may be nested: a host puts what plugins sent, of
// [rawjson.MaxForeign] levels at most, into something of its own. A trace of it, in a record of it,
// is then still JSON that anybody can read.
const maxPayload = 2 * rawjson.MaxForeign

func parsePayload(payload json.RawMessage) (Object, error) {
	if len(payload) == 0 {
		return Object{}, nil
	}
	return rawjson.ParseWithin(payload, maxPayload)
}

// A firing is one event under way. In the sequential modes one goroutine owns it; in notify each
// goroutine owns its step, and nobody changes the rest. All of it is one piece of memory, with room
// for the step of the one plugin that most points have.
type firing struct {
	failures FailureTable
	spec     *Spec
	event    Event // its payload as the last plugin left it
	out      Outcome
	room     [1]Step
}

func (f *firing) run(ctx context.Context, hooks []*Hook) error {
	switch f.spec.Mode {
	case Chain:
		return f.chain(ctx, hooks)
	case First:
		return f.first(ctx, hooks)
	case Gate:
		return f.gate(ctx, hooks)
	default:
		return f.notify(ctx, hooks)
	}
}

// matches tells whether a hook has anything to do with the event as it is now.
func (f *firing) matches(h *Hook) bool {
	return h.Match == nil || h.Match(&f.event)
}

// ask asks one hook and returns its reply with the step that records it.
func (f *firing) ask(ctx context.Context, h *Hook) (Reply, *Step) {
	f.out.Steps = append(f.out.Steps, Step{})
	step := &f.out.Steps[len(f.out.Steps)-1]
	return f.call(ctx, h, step), step
}

// call asks one hook, fills in the step and returns the reply.
func (f *firing) call(ctx context.Context, h *Hook, step *Step) Reply {
	step.begin(h)
	c := Call{Plugin: h.Plugin, Dialect: h.Dialect, Name: h.Name, Point: h.Point,
		Timeout: h.Timeout, Began: step.Started, Counters: h.Counters}
	reply, err := Do(ctx, &c, func(ctx context.Context) (Reply, error) { return h.Call(ctx, &f.event) })
	step.finish(&reply, err)
	if h.Remarks != nil {
		step.Notes = append(step.Notes, h.Remarks()...)
	}
	if err != nil {
		step.Action = f.failures.failureAction(h, f.spec.Mode, kindOf(err))
		reply = Reply{} // an answer beside an error is for the trace only
	}
	return reply
}

// applyFailure applies what the failure table said about a failed step. It reports whether the event is
// over, and the error that Fire returns.
func (f *firing) applyFailure(step *Step) (over bool, err error) {
	if step.Err == nil || step.Action == ActionSkip {
		return false, nil
	}
	step.Verdict = Deny
	f.end(Deny, step, step.Err.Error(), "")
	if step.Action == ActionAbort {
		return true, step.Err
	}
	return true, nil
}

// end records how the event came out, and by whom.
func (f *firing) end(v Verdict, step *Step, reason, suggest string) {
	f.out.Verdict, f.out.By, f.out.Reason, f.out.Suggest = v, step.Plugin, reason, suggest
}

// interrupted notices a caller that gave up.
func (f *firing) interrupted(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		f.out.Verdict, f.out.Reason = Deny, "interrupted: "+err.Error()
		return fmt.Errorf("%s: %w", f.spec.Point, context.Cause(ctx))
	}
	return nil
}
