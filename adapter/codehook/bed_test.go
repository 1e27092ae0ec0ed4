package codehook_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A testBed is a host whose plugins are Go functions, behind a real bus.
type testBed struct {
	bus   hook.Bus
	fired []hook.Event // the events that plugins received, in order
}

// plays is the function of a plugin at a point.
type plays func(ev *hook.Event) (hook.Reply, error)

// newTestBed returns a testBed with one plugin, called guard, that has these functions.
func newTestBed(t testing.TB, parts map[hook.Point]plays, on ...hook.Action) *testBed {
	t.Helper()
	b := &testBed{}
	var hooks []hook.Hook
	for point, play := range parts {
		h := hook.Hook{Plugin: "guard", Dialect: "test", Name: string(point), Point: point,
			Call: func(_ context.Context, ev *hook.Event) (hook.Reply, error) {
				b.fired = append(b.fired, *ev)
				return play(ev)
			}}
		if len(on) > 0 {
			h.OnFailure = on[0]
		}
		hooks = append(hooks, h)
	}
	if err := b.bus.Set(hooks); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *testBed) Fire(ctx context.Context, p hook.Point, payload any) (*hook.Outcome, error) {
	data, ok := payload.(json.RawMessage)
	if !ok {
		return nil, errors.New("the payload is not raw JSON")
	}
	return b.bus.Fire(ctx, p, data)
}

// set returns a plugin that changes fields.
func set(pairs ...string) plays {
	return func(*hook.Event) (hook.Reply, error) {
		var fields hook.Object
		for i := 0; i+1 < len(pairs); i += 2 {
			fields = append(fields, hook.Field{Name: pairs[i], Value: json.RawMessage(pairs[i+1])})
		}
		return hook.Reply{Set: fields}, nil
	}
}

// stops returns a plugin that ends the event with these fields.
func stops(pairs ...string) plays {
	return func(ev *hook.Event) (hook.Reply, error) {
		r, err := set(pairs...)(ev)
		r.Verdict = hook.Stop
		return r, err
	}
}

// says returns a plugin with one verdict.
func says(v hook.Verdict, reason string) plays {
	return func(*hook.Event) (hook.Reply, error) { return hook.Reply{Verdict: v, Reason: reason}, nil }
}

// breaks returns a plugin that fails.
func breaks(kind hook.Kind) plays {
	return func(*hook.Event) (hook.Reply, error) {
		return hook.Reply{}, hook.Failure(kind, errors.New("it "+string(kind)))
	}
}

func parse(t testing.TB, agent codehook.Agent, event, data string) *codehook.Moment {
	t.Helper()
	m, err := codehook.Parse(codehook.Input{Agent: agent, Event: event, Data: []byte(data), Dir: "/dir"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// seen returns the event that a plugin received at a point.
func (b *testBed) seen(t testing.TB, point hook.Point) rawjson.Object {
	t.Helper()
	for _, ev := range b.fired {
		if ev.Point == point {
			return ev.Payload
		}
	}
	t.Fatalf("%s was not fired; fired: %v", point, b.fired)
	return nil
}
