package hook

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// TestATraceIsReadAsItWasWritten: a trace that is read and written again keeps every byte.
func TestATraceIsReadAsItWasWritten(t *testing.T) {
	var b Bus
	shout := Hook{Plugin: "shout", Dialect: "test", Name: "loud", Point: TurnInput, Call: func(context.Context, *Event) (Reply, error) {
		return Reply{Set: Object{{Name: "message", Value: rawjson.String("HI")}}, Sent: json.RawMessage(`{"a":1}`), Notes: []string{"odd"}}, nil
	}}
	fails := Hook{Plugin: "fails", Dialect: "test", Name: "f", Point: TurnInput, OnFailure: ActionSkip, Priority: 1,
		Call: func(context.Context, *Event) (Reply, error) { return Reply{}, Failure(Crash, errors.New("gone")) }}
	if err := b.Set([]Hook{shout, fails}); err != nil {
		t.Fatal(err)
	}
	out, err := b.Fire(t.Context(), TurnInput, json.RawMessage(`{"message":"hi"}`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(out.Trace())
	if err != nil {
		t.Fatal(err)
	}
	var read Trace
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(read)
	if err != nil || string(again) != string(text) {
		t.Errorf("read and written again:\n%s\nit was:\n%s (%v)", again, text, err)
	}
}

// TestAskAsksOneHook: Ask calls one hook and no other hook of its point.
func TestAskAsksOneHook(t *testing.T) {
	var b Bus
	var asked []string
	named := func(name string, match func(*Event) bool) Hook {
		return Hook{Plugin: name, Name: "h", Point: TurnInput, Match: match, Call: func(context.Context, *Event) (Reply, error) {
			asked = append(asked, name)
			return Reply{Set: Object{{Name: "message", Value: rawjson.String(name)}}}, nil
		}}
	}
	if err := b.Set([]Hook{named("a", nil), named("b", nil), named("c", func(*Event) bool { return false })}); err != nil {
		t.Fatal(err)
	}
	hooks := b.Hooks(TurnInput)
	out, err := b.Ask(t.Context(), hooks[1], json.RawMessage(`{"message":"x"}`))
	if err != nil || len(asked) != 1 || asked[0] != "b" || string(out.Payload) != `{"message":"b"}` {
		t.Errorf("asked %v, got %s, %v", asked, out.Payload, err)
	}
	if out, err = b.Ask(t.Context(), hooks[2], nil); err != nil || len(out.Steps) != 0 {
		t.Errorf("a hook that has nothing to do with the event left %v, %v", out.Steps, err)
	}
}
