package render_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/render"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with testdata/NAME.golden.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and look at the change\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

// plugin returns a hook that gives one reply, or fails.
func plugin(name string, p hook.Point, reply hook.Reply, err error) hook.Hook {
	return hook.Hook{Plugin: name, Dialect: "scaffold", Name: "some_hook", Point: p, Priority: hook.DefaultPriority,
		Call: func(context.Context, *hook.Event) (hook.Reply, error) { return reply, err }}
}

func set(pairs ...string) hook.Object {
	var o hook.Object
	for i := 0; i < len(pairs); i += 2 {
		o = append(o, hook.Field{Name: pairs[i], Value: json.RawMessage(pairs[i+1])})
	}
	return o
}

// fire runs an event through the hooks and gives every step a fixed time, each ten times as long as
// the last.
func fire(t *testing.T, p hook.Point, payload string, hooks ...hook.Hook) *hook.Outcome {
	t.Helper()
	for i := range hooks {
		hooks[i].Position = i
	}
	var bus hook.Bus
	if err := bus.Set(hooks); err != nil {
		t.Fatal(err)
	}
	out, err := bus.Fire(t.Context(), p, json.RawMessage(payload))
	if out == nil {
		t.Fatal(err)
	}
	at, d := time.Unix(0, 0), 120*time.Microsecond
	for i := range out.Steps {
		out.Steps[i].Started, out.Steps[i].Duration = at, d
		at, d = at.Add(d), 10*d
	}
	return out
}

func draw(t *testing.T, out *hook.Outcome, o render.Options) string {
	t.Helper()
	var b strings.Builder
	if err := render.Trace(&b, out, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const poem = `"one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten"`

func TestTrace(t *testing.T) {
	long := strings.Repeat("lorem ipsum ", 20)
	tests := []struct {
		name  string
		opt   render.Options
		event func(t *testing.T) *hook.Outcome
	}{
		{"a chain shows who changed what", render.Options{}, func(t *testing.T) *hook.Outcome {
			return fire(t, hook.TurnInput, `{"message":"hello"}`,
				plugin("audit", hook.TurnInput, hook.Reply{}, nil),
				plugin("shout", hook.TurnInput, hook.Reply{Set: set("message", `"HELLO"`)}, nil))
		}},
		{"texts are compared by line", render.Options{}, func(t *testing.T) *hook.Outcome {
			changed := strings.Replace(strings.Replace(poem, "two", "zwei", 1), `nine\n`, ``, 1)
			return fire(t, hook.TurnFinal, `{"text":`+poem+`}`,
				plugin("translator", hook.TurnFinal, hook.Reply{Set: set("text", changed)}, nil))
		}},
		{"a final line end is not a line", render.Options{}, func(t *testing.T) *hook.Outcome {
			return fire(t, hook.TurnFinal, `{"text":"one\ntwo\n"}`,
				plugin("adds", hook.TurnFinal, hook.Reply{Set: set("text", `"one\ntwo\nthree\n"`)}, nil),
				plugin("trims", hook.TurnFinal, hook.Reply{Set: set("text", `"one\ntwo\nthree"`)}, nil))
		}},
		{"a long line shows the part that differs", render.Options{Width: 60}, func(t *testing.T) *hook.Outcome {
			return fire(t, hook.TurnFinal, `{"text":"`+long+`end"}`,
				plugin("ender", hook.TurnFinal, hook.Reply{Set: set("text", `"`+long+`END, and more of it than would fit on a line"`)}, nil))
		}},
		{"a refusal has its reason and suggestion", render.Options{}, func(t *testing.T) *hook.Outcome {
			return fire(t, hook.JobPreflight, `{"agent":"nightly"}`,
				plugin("battery", hook.JobPreflight, hook.Reply{}, nil),
				plugin("disk", hook.JobPreflight, hook.Reply{Verdict: hook.Deny, Reason: "disk is full\n(0 bytes free)", Suggest: "rm -r ~/old"}, nil))
		}},
		{"a failure says what it did to the event", render.Options{}, func(t *testing.T) *hook.Outcome {
			return fire(t, hook.TurnInput, `{"message":"hello"}`,
				plugin("slow", hook.TurnInput, hook.Reply{}, hook.Failure(hook.Timeout, errors.New("timed out after 5s"))),
				plugin("fine", hook.TurnInput, hook.Reply{Notes: []string{"answered with an id of its own"}}, nil))
		}},
		{"verbose adds what went over the wire", render.Options{Verbose: true, Width: 60}, func(t *testing.T) *hook.Outcome {
			return fire(t, hook.TurnInput, `{"message":"hello"}`,
				plugin("shout", hook.TurnInput, hook.Reply{Set: set("message", `"HELLO"`), Sent: json.RawMessage(`{"message":"hello"}`),
					Received: json.RawMessage(`{"action":"continue","message":"HELLO","remark":"a reply that is too long for one line"}`)}, nil))
		}},
		{"no plugin was called", render.Options{}, func(t *testing.T) *hook.Outcome {
			return fire(t, hook.SessionEnd, `{}`)
		}},
		{"fields come and go", render.Options{}, func(t *testing.T) *hook.Outcome {
			return fire(t, hook.ToolBefore, `{"tool":"shell","arguments":{"cmd":"ls","cwd":"/","list":[1,2]}}`,
				plugin("tags", hook.ToolBefore, hook.Reply{Set: set("arguments", `{"cmd":"ls -l","list":[1,2,3],"tags":{"a":1}}`)}, nil),
				plugin("answer", hook.ToolBefore, hook.Reply{Verdict: hook.Stop, Set: set("result", `"none"`, "success", "true")}, nil))
		}},
		{"colours", render.Options{Color: true}, func(t *testing.T) *hook.Outcome {
			return fire(t, hook.TurnInput, `{"message":"hello"}`,
				plugin("shout", hook.TurnInput, hook.Reply{Set: set("message", `"HELLO"`)}, nil),
				plugin("dropper", hook.TurnInput, hook.Reply{Verdict: hook.Skip}, nil))
		}},
		{"escape sequences of a plugin are shown, not obeyed", render.Options{Verbose: true}, func(t *testing.T) *hook.Outcome {
			evil := "red \x1b[31mtext\x1b]0;title\x07 \u202egnp.exe \x9b2J\r\x00"
			quoted, err := json.Marshal(evil)
			if err != nil {
				t.Fatal(err)
			}
			failing := hook.Failure(hook.Crash, errors.New(evil))
			failing.Stderr = evil
			return fire(t, hook.TurnInput, `{"message":"hello"}`,
				plugin(evil, hook.TurnInput, hook.Reply{Set: set("message", string(quoted)), Sent: quoted, Received: quoted, Notes: []string{evil}}, nil),
				plugin("crash", hook.TurnInput, hook.Reply{}, failing),
				plugin("deny", hook.TurnInput, hook.Reply{Verdict: hook.Deny, Reason: evil, Suggest: evil}, nil))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := draw(t, tt.event(t), tt.opt)
			golden(t, strings.ReplaceAll(tt.name, " ", "_"), got)
			if tt.opt.Color {
				return
			}
			if i := strings.IndexFunc(got, func(r rune) bool { return r < 0x20 && r != '\n' || 0x7f <= r && r < 0xa0 }); i >= 0 {
				t.Errorf("control character %q in the output", got[i])
			}
		})
	}
}

func TestTraceIsBounded(t *testing.T) {
	count := func(got, part string) int { return strings.Count(got, part) }
	t.Run("by lines", func(t *testing.T) {
		text, err := json.Marshal(strings.Repeat("line\n", 5000))
		if err != nil {
			t.Fatal(err)
		}
		out := fire(t, hook.TurnFinal, `{"text":"short"}`, plugin("p", hook.TurnFinal, hook.Reply{Set: set("text", string(text))}, nil))
		if got := draw(t, out, render.Options{}); count(got, "\n") > 60 || !strings.Contains(got, "more lines") {
			t.Errorf("5,000 lines drawn as %d", count(got, "\n"))
		}
	})
	t.Run("by changes", func(t *testing.T) {
		var fields []string
		for i := range 50 {
			fields = append(fields, fmt.Sprint("field", i), "1")
		}
		out := fire(t, hook.TurnFinal, `{}`, plugin("p", hook.TurnFinal, hook.Reply{Set: set(fields...)}, nil))
		if got := draw(t, out, render.Options{}); count(got, "\n") > 60 || !strings.Contains(got, "38 more changes") {
			t.Errorf("50 changes drawn as\n%s", got)
		}
	})
}
