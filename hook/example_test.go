package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// upper is a hook that rewrites the user's message.
var upper = hook.Hook{
	Plugin: "upper",
	Point:  hook.TurnInput,
	Call: func(_ context.Context, ev *hook.Event) (hook.Reply, error) {
		text, _ := ev.Payload.String("message")
		value := rawjson.String(strings.ToUpper(text))
		return hook.Reply{Set: hook.Object{{Name: "message", Value: value}}}, nil
	},
}

func Example() {
	var bus hook.Bus
	if err := bus.Set([]hook.Hook{upper}); err != nil {
		log.Fatal(err)
	}
	out, err := bus.Fire(context.Background(), hook.TurnInput, json.RawMessage(`{"message":"hello"}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Verdict, string(out.Payload))
	for _, step := range out.Steps {
		fmt.Println(step.Plugin, "changed the payload:", step.Changed)
	}
	// Output:
	// continue {"message":"HELLO"}
	// upper changed the payload: true
}

// A refusal is a verdict, not an error.
func ExampleBus_Fire_deny() {
	guard := hook.Hook{
		Plugin: "guard",
		Point:  hook.ToolBefore,
		Call: func(_ context.Context, ev *hook.Event) (hook.Reply, error) {
			if tool, _ := ev.Payload.String("tool"); tool == "shell" {
				return hook.Reply{Verdict: hook.Deny, Reason: "no shell here", Suggest: "use the tool read"}, nil
			}
			return hook.Reply{}, nil
		},
	}
	var bus hook.Bus
	if err := bus.Set([]hook.Hook{guard}); err != nil {
		log.Fatal(err)
	}
	out, err := bus.Fire(context.Background(), hook.ToolBefore, json.RawMessage(`{"tool":"shell"}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s by %s: %s (%s)\n", out.Verdict, out.By, out.Reason, out.Suggest)
	// Output:
	// deny by guard: no shell here (use the tool read)
}

// The failure table decides what a failing plugin does to an event.
func ExampleFailureTable() {
	broken := hook.Hook{
		Plugin: "broken",
		Point:  hook.TurnInput,
		Call: func(context.Context, *hook.Event) (hook.Reply, error) {
			return hook.Reply{}, hook.Failure(hook.Crash, errors.New("exit status 1"))
		},
	}
	bus := hook.Bus{Failures: hook.FailureTable{{Kind: hook.Crash, Action: hook.ActionAbort}}}
	if err := bus.Set([]hook.Hook{broken, upper}); err != nil {
		log.Fatal(err)
	}
	_, err := bus.Fire(context.Background(), hook.TurnInput, nil)
	fmt.Println(errors.Is(err, hook.Crash), err)
	// Output:
	// true plugin broken at turn.input: exit status 1
}

// A trace shows what each plugin changed.
func ExampleStep_Diff() {
	var bus hook.Bus
	if err := bus.Set([]hook.Hook{upper}); err != nil {
		log.Fatal(err)
	}
	out, err := bus.Fire(context.Background(), hook.TurnInput, json.RawMessage(`{"message":"hello"}`))
	if err != nil {
		log.Fatal(err)
	}
	for _, change := range out.Steps[0].Diff() {
		fmt.Printf("%s: %s becomes %s\n", change.Path, change.Old, change.New)
	}
	// Output:
	// /message: "hello" becomes "HELLO"
}
