package hook

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"testing"
	"time"

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

// TestATraceHasTheStartsOfItsSteps: start times survive being written and read, also those of steps
// that ran at once. If a trace has none, each step starts when the one before ended, or all start
// at once at a Notify point.
func TestATraceHasTheStartsOfItsSteps(t *testing.T) {
	at := func(us int) time.Time { return time.Unix(1_700_000_000, 0).Add(time.Duration(us) * time.Microsecond) }
	for name, c := range map[string]struct {
		point   Point
		started []int // microseconds
		strip   bool  // the trace has no start times, as in earlier versions
		want    []int // microseconds after the earliest
	}{
		"with a pause":                     {TurnInput, []int{0, 900}, false, []int{0, 900}},
		"at once, the second starts first": {TurnDone, []int{30, 5}, false, []int{25, 0}},
		"earlier version":                  {TurnInput, []int{0, 900}, true, []int{0, 100}},
		"earlier version, at once":         {TurnDone, []int{30, 5}, true, []int{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			out := Outcome{Point: c.point, Verdict: Continue}
			for _, us := range c.started {
				out.Steps = append(out.Steps, Step{Plugin: "p", Started: at(us), Duration: 100 * time.Microsecond})
			}
			text, err := json.Marshal(out.Trace())
			if err != nil {
				t.Fatal(err)
			}
			if c.strip {
				text = regexp.MustCompile(`"start_us":\d+,`).ReplaceAll(text, nil)
			}
			var read Trace
			if err := json.Unmarshal(text, &read); err != nil {
				t.Fatal(err)
			}
			last := 0
			for i, want := range c.want {
				last = max(last, want)
				if got := read.Steps[i].Started.Sub(read.Began()).Microseconds(); got != int64(want) {
					t.Errorf("step %d started after %d µs, want %d", i, got, want)
				}
			}
			if want := time.Duration(last+100) * time.Microsecond; read.Took() != want {
				t.Errorf("it took %v, want %v", read.Took(), want)
			}
		})
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
		t.Errorf("a hook that does not match the event has the steps %v, %v", out.Steps, err)
	}
}
