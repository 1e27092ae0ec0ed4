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

// ErrUnknownPoint is returned by [Bus.Fire] for a point that is neither built in nor declared.
var ErrUnknownPoint = errors.New("unknown point")

// ErrBadPayload is returned by [Bus.Fire] for a payload that is not a JSON object.
var ErrBadPayload = errors.New("payload is not a JSON object")

// A Bus delivers events to the hooks of their point. The zero Bus is ready to use and has no hooks.
// A Bus is safe for concurrent use.
type Bus struct {
	// Failures decides what happens to an event when a plugin fails. Set it before the first event.
	Failures FailureTable

	own   map[Point]*Spec                   // points that the host declared, beside the built-in ones
	hooks atomic.Pointer[map[Point][]*Hook] // sorted; Set replaces the whole map and never changes one in place
}

// Declare adds the point p, which belongs to the host. It has the mode and the fields of the
// built-in point like. Declare all points before the first [Bus.Set].
func (b *Bus) Declare(p, like Point, doc string) error {
	spec := like.spec()
	switch {
	case spec == nil:
		return fmt.Errorf("point %q cannot be like %q: %w", p, like, ErrUnknownPoint)
	case p == "" || b.spec(p) != nil:
		return fmt.Errorf("point %q: the name is empty or already taken", p)
	}
	own := *spec
	own.Point, own.Doc = p, doc
	if b.own == nil {
		b.own = make(map[Point]*Spec)
	}
	b.own[p] = &own
	return nil
}

// Spec returns the fixed properties of a point, built-in or declared. ok is false if there is no
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

// Set replaces all hooks. It sorts the hooks of each point by priority (lower first), then by
// position, then by plugin name.
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

// Hooks returns the hooks of a point in the order in which Fire calls them.
func (b *Bus) Hooks(p Point) []*Hook {
	all := b.hooks.Load()
	if all == nil {
		return nil
	}
	return (*all)[p]
}

// Fire sends one event through the hooks of its point and returns what became of it. The payload is
// a JSON object; nil means an empty object. The caller must not change it afterwards, because the
// outcome refers to it. For an unknown point or a bad payload the outcome is nil. With any other
// error Fire also returns the outcome up to that moment.
func (b *Bus) Fire(ctx context.Context, p Point, payload json.RawMessage) (*Outcome, error) {
	f, err := b.firing(p, payload)
	if err != nil {
		return nil, err
	}
	return f.fire(ctx, takingPart(ctx, b.Hooks(p)))
}

// Ask sends one event to the hook h alone, as if no other plugin were there. It is meant for
// playing recorded events again. If h does not match the event, the outcome has no step.
func (b *Bus) Ask(ctx context.Context, h *Hook, payload json.RawMessage) (*Outcome, error) {
	f, err := b.firing(h.Point, payload)
	if err != nil {
		return nil, err
	}
	return f.fire(ctx, []*Hook{h})
}

// firing validates the point and the payload of an event, and returns the event ready to be fired.
func (b *Bus) firing(p Point, payload json.RawMessage) (*firing, error) {
	spec := b.spec(p)
	if spec == nil {
		return nil, fmt.Errorf("%w %q", ErrUnknownPoint, p)
	}
	object, err := parsePayload(payload)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", p, ErrBadPayload, err)
	}
	return &firing{failures: b.Failures, spec: spec, event: Event{Point: p, Payload: object, raw: payload}, out: Outcome{Point: p, Verdict: Continue}}, nil
}

// fire calls the given hooks.
func (f *firing) fire(ctx context.Context, hooks []*Hook) (*Outcome, error) {
	f.out.Steps = f.room[:0]
	if len(hooks) > len(f.room) {
		f.out.Steps = make([]Step, 0, len(hooks)) // allocated in full: pointers to its steps must stay valid
	}
	err := f.run(ctx, hooks)
	f.out.Payload = f.event.Encode(f.event.Payload)
	return &f.out, err
}

// Wants reports whether an event at p with this payload would be sent to any hook. It gets no
// context, and so no [Choice]: hooks that are called only if a Choice names their plugin do not
// count.
func (b *Bus) Wants(p Point, payload json.RawMessage) bool {
	object, err := parsePayload(payload)
	if err != nil {
		return false
	}
	f := firing{event: Event{Point: p, Payload: object}}
	return slices.ContainsFunc(withoutByName(b.Hooks(p)), f.matches)
}

// Listens reports whether any hook of p takes part, given the choice of plugins in ctx. If none
// does, firing the point changes nothing, and the host need not build the payload.
func (b *Bus) Listens(ctx context.Context, p Point) bool { return len(takingPart(ctx, b.Hooks(p))) > 0 }

// Alters reports whether any hook that takes part at p, given the choice in ctx, can change the
// outcome of an event. An observer can do so only by failing. At a Notify point no hook can.
func (b *Bus) Alters(ctx context.Context, p Point) bool {
	if spec := b.spec(p); spec == nil || spec.Mode == Notify {
		return false
	}
	return slices.ContainsFunc(takingPart(ctx, b.Hooks(p)), (*Hook).alters)
}

func (h *Hook) alters() bool {
	return !h.Observer || h.OnFailure != "" && h.OnFailure != ActionSkip
}

// Closed returns the names of the plugins whose absence ends every event at p. If one of them is
// not running, the failure table, or the operator's setting, refuses the event. Closed does not
// look at [Hook.Match], which needs an event.
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

// maxPayload limits how deep a payload may be nested. Values from plugins have at most
// [rawjson.MaxForeign] levels, and the host wraps them in objects of its own. With this limit the
// payload can still be read as JSON when it is part of a trace, and the trace is part of a record.
const maxPayload = 2 * rawjson.MaxForeign

func parsePayload(payload json.RawMessage) (Object, error) {
	if len(payload) == 0 {
		return Object{}, nil
	}
	return rawjson.ParseWithin(payload, maxPayload)
}

// A firing is one event in progress. In the modes chain, first and gate one goroutine owns it. In
// notify mode each goroutine owns its own steps, and the rest is read only. Most points have one
// plugin. So the first step is part of the struct, and an event at such a point costs one
// allocation. On 64-bit systems the struct has exactly 512 bytes: Go allocates larger ones in a
// slower way.
type firing struct {
	failures FailureTable
	spec     *Spec
	event    Event // the payload as the last plugin left it
	out      Outcome
	room     [1]Step
}

func (f *firing) run(ctx context.Context, hooks []*Hook) error {
	if f.spec.Mode == Notify {
		return f.notify(ctx, hooks)
	}
	return f.inOrder(ctx, hooks)
}

// inOrder calls the hooks one after another, until the event is over. Answers of observers are not
// applied. After an answer that does not end the event, only observers are called.
func (f *firing) inOrder(ctx context.Context, hooks []*Hook) error {
	for _, h := range hooks {
		if f.out.Verdict != Continue && !h.Observer || !f.matches(h) {
			continue
		}
		reply, step := f.ask(ctx, h)
		over, err := f.applyFailure(step)
		if !over && !h.Observer {
			over = f.apply(&reply, step)
		}
		if ierr := f.interrupted(ctx); ierr != nil {
			return ierr
		}
		if over {
			return err
		}
	}
	return nil
}

// apply does to the event what a reply says, by the rules of the mode, and returns whether the
// event is over.
func (f *firing) apply(reply *Reply, step *Step) (over bool) {
	switch f.spec.Mode {
	case Chain:
		return f.chain(reply, step)
	case First:
		return f.first(reply, step)
	default:
		return f.gate(reply, step)
	}
}

// matches reports whether the hook wants the event as it is now.
func (f *firing) matches(h *Hook) bool {
	return h.Match == nil || h.Match(&f.event)
}

// ask appends a step, calls the hook, and returns its reply with the step.
func (f *firing) ask(ctx context.Context, h *Hook) (Reply, *Step) {
	f.out.Steps = append(f.out.Steps, Step{})
	step := &f.out.Steps[len(f.out.Steps)-1]
	return f.call(ctx, h, step), step
}

// call calls the hook, fills in the step and returns the reply.
func (f *firing) call(ctx context.Context, h *Hook, step *Step) Reply {
	step.begin(h)
	c := Call{Plugin: h.Plugin, Dialect: h.Dialect, Name: h.Name, Point: h.Point,
		Timeout: h.Timeout, Began: step.Started, Counters: h.Counters}
	calls := value[*Calls](ctx, callsKey{})
	pending := calls.add(h, f.spec.Point, step.Started)
	reply, err := Do(ctx, &c, func(ctx context.Context) (Reply, error) { return h.Call(ctx, &f.event) })
	calls.remove(pending)
	step.finish(&reply, c.Took, err)
	if h.Remarks != nil {
		step.Notes = append(step.Notes, h.Remarks()...)
	}
	if err != nil {
		step.Action = f.failures.failureAction(h, f.spec.Mode, kindOf(err))
		reply = Reply{} // a reply beside an error is for the trace only
	}
	return reply
}

// applyFailure does to the event what step.Action says, if the step failed. It returns whether the
// event is over, and the error that Fire returns.
func (f *firing) applyFailure(step *Step) (over bool, err error) {
	if step.Err == nil || step.Action == ActionSkip {
		return false, nil
	}
	f.end(Deny, step, &Reply{Reason: step.Err.Error()})
	if step.Action == ActionAbort {
		return true, step.Err
	}
	return true, nil
}

// end records the verdict of the event, also in the step of the plugin that caused it.
func (f *firing) end(v Verdict, step *Step, reply *Reply) {
	step.Verdict = v
	f.out.Verdict, f.out.By, f.out.Reason, f.out.Suggest = v, step.Plugin, reply.Reason, reply.Suggest
}

// interrupted returns an error, and denies the event, if the caller's context has ended.
func (f *firing) interrupted(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		f.out.Verdict, f.out.Reason = Deny, "interrupted"
		if !errors.Is(err, context.Canceled) {
			f.out.Reason = "out of time"
		}
		return fmt.Errorf("%s: %w", f.spec.Point, context.Cause(ctx))
	}
	return nil
}
