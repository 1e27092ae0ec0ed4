package hook

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/rawjson"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answer returns a hook that always gives the reply r.
func answer(plugin string, p Point, r Reply) Hook {
	return Hook{Plugin: plugin, Dialect: "test", Name: "h", Point: p,
		Call: func(context.Context, *Event) (Reply, error) { return r, nil }}
}

// broken returns a hook that always fails with err.
func broken(plugin string, p Point, err error) Hook {
	return Hook{Plugin: plugin, Dialect: "test", Name: "h", Point: p,
		Call: func(context.Context, *Event) (Reply, error) { return Reply{}, err }}
}

// appends returns a hook that adds its name to a text field.
func appends(plugin string, p Point, field string) Hook {
	return Hook{Plugin: plugin, Dialect: "test", Name: "h", Point: p,
		Call: func(_ context.Context, ev *Event) (Reply, error) {
			text, _ := ev.Payload.String(field)
			return Reply{Set: set(field, text+plugin)}, nil
		}}
}

func set(name, value string) Object { return Object{{Name: name, Value: rawjson.String(value)}} }

func raw(name, value string) Object { return Object{{Name: name, Value: json.RawMessage(value)}} }

func fire(t *testing.T, p Point, payload string, hooks ...Hook) *Outcome {
	t.Helper()
	out, err := tryFire(t, p, payload, hooks...)
	if err != nil {
		t.Fatalf("fire %s: %v", p, err)
	}
	return out
}

func tryFire(t *testing.T, p Point, payload string, hooks ...Hook) (*Outcome, error) {
	t.Helper()
	for i := range hooks {
		if hooks[i].Position == 0 {
			hooks[i].Position = i // the listed order, not the order of names
		}
	}
	b := Bus{Failures: FailureTable{{Dialect: "strict", Action: ActionAbort}}}
	if err := b.Set(hooks); err != nil {
		t.Fatal(err)
	}
	return b.Fire(t.Context(), p, json.RawMessage(payload))
}

func asked(out *Outcome) string {
	var names []string
	for _, s := range out.Steps {
		names = append(names, s.Plugin)
	}
	return strings.Join(names, " ")
}

func TestOrder(t *testing.T) {
	hook := func(plugin string, priority, position int) Hook {
		h := answer(plugin, TurnInput, Reply{})
		h.Priority, h.Position = priority, position
		return h
	}
	out := fire(t, TurnInput, `{}`,
		hook("late", 900, 9), hook("b", 500, 8), hook("a", 500, 8), hook("listed-first", 500, 7), hook("early", 100, 9), hook("zero", 0, 9))
	if got, want := asked(out), "zero early listed-first a b late"; got != want {
		t.Errorf("asked %q, want %q: priority, then position, then name", got, want)
	}
}

func TestChain(t *testing.T) {
	t.Run("each sees the last one's output", func(t *testing.T) {
		out := fire(t, TurnInput, `{"message":"x"}`, appends("a", TurnInput, "message"), appends("b", TurnInput, "message"))
		if got, want := string(out.Payload), `{"message":"xab"}`; got != want || out.Verdict != Continue {
			t.Errorf("payload %s (%s), want %s", got, out.Verdict, want)
		}
	})
	t.Run("stop applies its data and ends the chain", func(t *testing.T) {
		out := fire(t, TurnInput, `{"message":"x"}`,
			answer("a", TurnInput, Reply{Verdict: Stop, Set: set("message", "done")}), appends("b", TurnInput, "message"))
		if string(out.Payload) != `{"message":"done"}` || out.Verdict != Stop || out.By != "a" || asked(out) != "a" {
			t.Errorf("got %s %s by %s, asked %s", out.Verdict, out.Payload, out.By, asked(out))
		}
	})
	t.Run("skip drops the event if the point allows it", func(t *testing.T) {
		out := fire(t, TurnInput, `{"message":"x"}`, answer("a", TurnInput, Reply{Verdict: Skip}), appends("b", TurnInput, "message"))
		if out.Verdict != Skip || asked(out) != "a" {
			t.Errorf("got %s, asked %s", out.Verdict, asked(out))
		}
	})
	t.Run("skip is continue if the point does not allow it", func(t *testing.T) {
		out := fire(t, ModelReply, `{"text":"x"}`, answer("a", ModelReply, Reply{Verdict: Skip}), appends("b", ModelReply, "text"))
		if out.Verdict != Continue || asked(out) != "a b" || len(out.Steps[0].Notes) != 1 {
			t.Errorf("got %s, asked %s, notes %q", out.Verdict, asked(out), out.Steps[0].Notes)
		}
	})
	t.Run("stop is continue at a point that cannot stop", func(t *testing.T) {
		out := fire(t, PromptContext, `{"dynamic_context":"x"}`,
			answer("a", PromptContext, Reply{Verdict: Stop, Set: set("dynamic_context", "y")}), appends("b", PromptContext, "dynamic_context"))
		if string(out.Payload) != `{"dynamic_context":"yb"}` || out.Verdict != Continue {
			t.Errorf("got %s %s", out.Verdict, out.Payload)
		}
	})
	t.Run("deny ends the chain with its reason", func(t *testing.T) {
		out := fire(t, ToolBefore, `{}`, answer("a", ToolBefore, Reply{Verdict: Deny, Reason: "no", Suggest: "ask"}), appends("b", ToolBefore, "tool"))
		if out.Verdict != Deny || out.Reason != "no" || out.Suggest != "ask" || asked(out) != "a" {
			t.Errorf("got %+v", out)
		}
	})
	t.Run("an answered tool.before stops with its result", func(t *testing.T) {
		out := fire(t, ToolBefore, `{"tool":"shell"}`, answer("a", ToolBefore, Reply{Verdict: Stop, Set: set("result", "mine")}))
		if got, want := string(out.Payload), `{"tool":"shell","result":"mine"}`; got != want || out.Verdict != Stop {
			t.Errorf("got %s %s, want %s", out.Verdict, got, want)
		}
	})
	t.Run("injects are joined in order with a blank line between", func(t *testing.T) {
		out := fire(t, SessionStart, `{"session_id":"1"}`,
			answer("a", SessionStart, Reply{Set: set("inject", "one")}),
			answer("b", SessionStart, Reply{Set: raw("inject", "null")}),
			answer("c", SessionStart, Reply{Set: set("inject", "two")}))
		if got, want := string(out.Payload), `{"session_id":"1","inject":"one\n\ntwo"}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
	t.Run("retained lists are joined end to end", func(t *testing.T) {
		out := fire(t, CompactAfter, `{}`,
			answer("a", CompactAfter, Reply{Set: raw("retain", `[1]`)}),
			answer("b", CompactAfter, Reply{Set: raw("retain", `[]`)}),
			answer("c", CompactAfter, Reply{Set: raw("retain", `[2,3]`)}))
		if got, want := string(out.Payload), `{"retain":[1,2,3]}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestFirst(t *testing.T) {
	t.Run("the first answer wins and the rest are not asked", func(t *testing.T) {
		out := fire(t, ToolResolve, `{"tool":"t"}`,
			answer("a", ToolResolve, Reply{}),
			answer("b", ToolResolve, Reply{Verdict: Stop, Set: set("result", "b")}),
			answer("c", ToolResolve, Reply{Verdict: Stop, Set: set("result", "c")}))
		if got, want := string(out.Payload), `{"tool":"t","result":"b"}`; got != want || asked(out) != "a b" || out.By != "b" || out.Verdict != Stop {
			t.Errorf("got %s %s by %s, asked %s", out.Verdict, got, out.By, asked(out))
		}
	})
	t.Run("a refusal ends the event, and sets no fields", func(t *testing.T) {
		out := fire(t, ToolResolve, `{"tool":"t"}`,
			answer("a", ToolResolve, Reply{Verdict: Deny, Reason: "not that tool", Set: set("result", "a")}),
			answer("b", ToolResolve, Reply{Verdict: Stop, Set: set("result", "b")}))
		if got, want := string(out.Payload), `{"tool":"t"}`; got != want || asked(out) != "a" || out.Verdict != Deny || out.Reason != "not that tool" {
			t.Errorf("got %s %s (%s), asked %s", out.Verdict, got, out.Reason, asked(out))
		}
		if out.Steps[0].Verdict != Deny {
			t.Errorf("the step says %s", out.Steps[0].Verdict)
		}
	})
	t.Run("no plugin answers", func(t *testing.T) {
		out := fire(t, ToolResolve, `{}`, answer("a", ToolResolve, Reply{}))
		if out.Verdict != Continue || out.By != "" {
			t.Errorf("got %s by %q", out.Verdict, out.By)
		}
	})
	t.Run("observers are called before and after the answer, and do not answer", func(t *testing.T) {
		observer := func(name string) Hook {
			h := answer(name, CompactBefore, Reply{Verdict: Stop, Set: set("summary", name)})
			h.Observer = true
			return h
		}
		out := fire(t, CompactBefore, `{}`, observer("o1"),
			answer("c", CompactBefore, Reply{Verdict: Stop, Set: set("summary", "c")}), observer("o2"))
		if got, want := string(out.Payload), `{"summary":"c"}`; got != want || asked(out) != "o1 c o2" {
			t.Errorf("got %s, asked %s", got, asked(out))
		}
	})
	t.Run("after a failure the next hook is called", func(t *testing.T) {
		out := fire(t, ToolResolve, `{}`, broken("a", ToolResolve, errors.New("boom")), answer("b", ToolResolve, Reply{Verdict: Stop}))
		if out.By != "b" || out.Steps[0].Err == nil {
			t.Errorf("got %+v", out)
		}
	})
}

func TestGate(t *testing.T) {
	t.Run("all agree", func(t *testing.T) {
		out := fire(t, JobPreflight, `{}`, answer("a", JobPreflight, Reply{}), answer("b", JobPreflight, Reply{Verdict: Continue}))
		if out.Verdict != Continue || asked(out) != "a b" {
			t.Errorf("got %s, asked %s", out.Verdict, asked(out))
		}
	})
	t.Run("the first refusal ends the event with its reason and suggestion", func(t *testing.T) {
		out := fire(t, JobPreflight, `{}`,
			answer("a", JobPreflight, Reply{Verdict: Deny, Reason: "no disk", Suggest: "buy one"}), answer("b", JobPreflight, Reply{}))
		if out.Verdict != Deny || out.Reason != "no disk" || out.Suggest != "buy one" || out.By != "a" || asked(out) != "a" {
			t.Errorf("got %+v", out)
		}
	})
	t.Run("a failure closes the gate", func(t *testing.T) {
		out := fire(t, JobPreflight, `{}`, broken("a", JobPreflight, errors.New("boom")), answer("b", JobPreflight, Reply{}))
		if out.Verdict != Deny || !strings.Contains(out.Reason, "boom") || asked(out) != "a" {
			t.Errorf("got %+v", out)
		}
	})
	t.Run("stop closes the gate too", func(t *testing.T) {
		if out := fire(t, TurnBegin, `{}`, answer("a", TurnBegin, Reply{Verdict: Stop})); out.Verdict != Deny {
			t.Errorf("got %s", out.Verdict)
		}
	})
}

func TestAnObserversAnswerChangesNothing(t *testing.T) {
	for point, reply := range map[Point]Reply{TurnInput: {Verdict: Deny, Set: set("message", "x")}, CommandValidate: {Verdict: Deny}} {
		h := answer("a", point, reply)
		h.Observer = true
		if out := fire(t, point, `{"message":"m"}`, h); out.Verdict != Continue || string(out.Payload) != `{"message":"m"}` {
			t.Errorf("%s: got %s, %s", point, out.Verdict, out.Payload)
		}
	}
}

func TestNotify(t *testing.T) {
	t.Run("all at once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			slow := func(name string) Hook {
				return Hook{Plugin: name, Point: TurnDone, Call: func(context.Context, *Event) (Reply, error) {
					time.Sleep(time.Minute)
					return Reply{}, nil
				}}
			}
			began := time.Now()
			out := fire(t, TurnDone, `{}`, slow("a"), slow("b"), slow("c"))
			if took := time.Since(began); took != time.Minute || asked(out) != "a b c" {
				t.Errorf("took %s, asked %s", took, asked(out))
			}
		})
	})
	t.Run("no answer and no failure changes anything, and every failure is recorded", func(t *testing.T) {
		deny := answer("b", TurnDone, Reply{Verdict: Deny, Set: set("text", "changed")})
		abort := broken("a", TurnDone, errors.New("boom"))
		abort.OnFailure = ActionAbort
		out := fire(t, TurnDone, `{"text":"x"}`, abort, deny)
		if string(out.Payload) != `{"text":"x"}` || out.Verdict != Continue {
			t.Errorf("got %s %s", out.Verdict, out.Payload)
		}
		if out.Steps[0].Err == nil || out.Steps[1].Err != nil {
			t.Errorf("errors: %v, %v", out.Steps[0].Err, out.Steps[1].Err)
		}
	})
}

func TestFailure(t *testing.T) {
	t.Run("a timeout is skipped and named", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := Hook{Plugin: "slow", Dialect: "scaffold", Name: "post_user_input", Point: TurnInput, Timeout: 5 * time.Second,
				Counters: &Counters{},
				Call: func(ctx context.Context, _ *Event) (Reply, error) {
					<-ctx.Done()
					return Reply{}, ctx.Err()
				}}
			out := fire(t, TurnInput, `{"message":"x"}`, h, appends("b", TurnInput, "message"))
			if string(out.Payload) != `{"message":"xb"}` {
				t.Errorf("payload %s", out.Payload)
			}
			err := out.Steps[0].Err
			if !errors.Is(err, Timeout) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v is not a timeout", err)
			}
			want := "plugin slow (scaffold) post_user_input at turn.input: timed out after 5s"
			if err.Error() != want {
				t.Errorf("error\n%s\nwant\n%s", err, want)
			}
			if h.Counters.Calls.Load() != 1 || h.Counters.Errors.Load() != 1 || h.Counters.Timeouts.Load() != 1 {
				t.Errorf("counters %d %d %d", h.Counters.Calls.Load(), h.Counters.Errors.Load(), h.Counters.Timeouts.Load())
			}
		})
	})
	t.Run("abort ends the event with the error and a denying verdict", func(t *testing.T) {
		h := broken("a", CommandBefore, Failure(Crash, errors.New("exit 1")))
		h.Dialect = "strict"
		out, err := tryFire(t, CommandBefore, `{}`, h, appends("b", CommandBefore, "command"))
		if !errors.Is(err, Crash) || out.Verdict != Deny || asked(out) != "a" {
			t.Errorf("err %v, outcome %+v", err, out)
		}
	})
	t.Run("a failure of a dialect without a row in the table is skipped", func(t *testing.T) {
		h := broken("a", CommandBefore, Failure(Outdated, errors.New("needs 2.0")))
		h.Dialect = "mine"
		out := fire(t, CommandBefore, `{}`, h, appends("b", CommandBefore, "command"))
		if out.Verdict != Continue || asked(out) != "a b" || out.Steps[0].Action != ActionSkip {
			t.Errorf("outcome %+v", out)
		}
	})
	t.Run("the hook's own on_failure goes before the table", func(t *testing.T) {
		h := broken("a", TurnInput, errors.New("boom"))
		h.Dialect, h.OnFailure = "scaffold", ActionDeny
		if out := fire(t, TurnInput, `{}`, h); out.Verdict != Deny || out.Steps[0].Action != ActionDeny {
			t.Errorf("got %s, %s", out.Verdict, out.Steps[0].Action)
		}
	})
	t.Run("if the caller cancels, the chain ends and Fire returns the error", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		h := Hook{Plugin: "a", Point: TurnInput, Call: func(context.Context, *Event) (Reply, error) { cancel(); return Reply{}, nil }}
		var b Bus
		if err := b.Set([]Hook{h, appends("b", TurnInput, "message")}); err != nil {
			t.Fatal(err)
		}
		out, err := b.Fire(ctx, TurnInput, nil)
		if !errors.Is(err, context.Canceled) || asked(out) != "a" || out.Verdict != Deny || out.Reason != "interrupted" {
			t.Errorf("err %v, asked %s, %s", err, asked(out), out.Verdict)
		}
	})
	t.Run("the caller's deadline ends the event, and is not a timeout of the plugin", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		h := Hook{Plugin: "a", Point: TurnInput, Timeout: time.Minute, Call: func(ctx context.Context, _ *Event) (Reply, error) {
			at, _ := ctx.Deadline()
			for time.Now().Before(at) { // as a read with a deadline of its own, which returns exactly at that time
			}
			return Reply{}, context.DeadlineExceeded
		}}
		var b Bus
		if err := b.Set([]Hook{h}); err != nil {
			t.Fatal(err)
		}
		if out, err := b.Fire(ctx, TurnInput, nil); !errors.Is(err, context.DeadlineExceeded) || out.Verdict != Deny {
			t.Errorf("err %v, %s", err, out.Verdict)
		}
	})
	t.Run("stderr's last line is part of the message", func(t *testing.T) {
		err := &Error{Plugin: "p", Kind: Crash, Err: errors.New("exit 1"), Stderr: "Traceback\nValueError: x\n"}
		if !strings.Contains(err.Error(), "(stderr: ValueError: x)") {
			t.Error(err)
		}
	})
}

// TestFailuresWithoutATable: an empty table denies at a gate and skips everywhere else.
func TestFailuresWithoutATable(t *testing.T) {
	var none FailureTable
	for mode, want := range map[Mode]Action{Chain: ActionSkip, First: ActionSkip, Gate: ActionDeny, Notify: ActionSkip} {
		if got := none.Action("anything", mode, Crash); got != want {
			t.Errorf("%s: %s, want %s", mode, got, want)
		}
	}
	all := FailureTable{{Action: ActionAbort}}
	if got := all.failureAction(&Hook{}, Notify, Crash); got != ActionSkip {
		t.Errorf("a table that aborts, at a notify point: %s", got)
	}
	if got := all.failureAction(&Hook{OnFailure: ActionDeny}, Chain, Crash); got != ActionDeny {
		t.Errorf("OnFailure does not come before the table: %s", got)
	}
}

func TestAHookThatDoesNotMatchIsNotCalled(t *testing.T) {
	only := func(plugin string, p Point, command string) Hook {
		h := answer(plugin, p, Reply{Set: set("command", "git")})
		h.Match = func(ev *Event) bool { c, _ := ev.Payload.String("command"); return c == command }
		return h
	}
	// The first hook renames the command, so that the second matches and the third does not.
	out := fire(t, CommandBefore, `{"command":"g"}`, only("a", CommandBefore, "g"), only("b", CommandBefore, "git"), only("c", CommandBefore, "g"))
	if asked(out) != "a b" {
		t.Errorf("chain asked %q", asked(out))
	}
	if out := fire(t, CommandDone, `{"command":"g"}`, only("a", CommandDone, "g"), only("b", CommandDone, "git")); asked(out) != "a" {
		t.Errorf("notify asked %q", asked(out))
	}
	var b Bus
	if err := b.Set([]Hook{only("a", CommandAfter, "git")}); err != nil {
		t.Fatal(err)
	}
	if !b.Wants(CommandAfter, json.RawMessage(`{"command":"git"}`)) || b.Wants(CommandAfter, json.RawMessage(`{"command":"ls"}`)) || b.Wants(CommandDone, nil) {
		t.Error("Wants is wrong")
	}
}

func TestFireRefusesUnknownPointsAndBadPayloads(t *testing.T) {
	var b Bus
	if _, err := b.Fire(t.Context(), "no.such", nil); !errors.Is(err, ErrUnknownPoint) {
		t.Errorf("unknown point: %v", err)
	}
	for _, payload := range []string{`[]`, `"x"`, `{`, `{} {}`, `nul`} {
		if _, err := b.Fire(t.Context(), TurnInput, json.RawMessage(payload)); !errors.Is(err, ErrBadPayload) {
			t.Errorf("payload %s: %v", payload, err)
		}
	}
	if err := b.Set([]Hook{{Point: "no.such"}}); !errors.Is(err, ErrUnknownPoint) {
		t.Errorf("set: %v", err)
	}
}

func TestEveryPointHasAModeAndFields(t *testing.T) {
	var names []Point
	for _, s := range Points() {
		names = append(names, s.Point)
		if !slices.Contains([]Mode{Chain, First, Gate, Notify}, s.Mode) || len(s.Fields) == 0 || s.Doc == "" {
			t.Errorf("%+v is incomplete", s)
		}
	}
	slices.Sort(names)
	if len(names) != 22 || len(slices.Compact(names)) != 22 {
		t.Errorf("%d points: %v", len(names), names)
	}
}

func TestAlters(t *testing.T) {
	var b Bus
	if err := b.Set([]Hook{
		{Plugin: "archive", Dialect: "dotagent", Point: TurnFinal, Observer: true},
		{Plugin: "guarded", Dialect: "dotagent", Point: ToolAfter, Observer: true, OnFailure: ActionDeny},
		{Plugin: "told", Dialect: "python", Point: TurnDone, OnFailure: ActionDeny},
		{Plugin: "shout", Dialect: "python", Point: ModelReply},
	}); err != nil {
		t.Fatal(err)
	}
	all := t.Context()
	without := WithChoice(all, Choice{Dialect: "python", Plugins: []string{}})
	if b.Alters(all, TurnFinal) || !b.Alters(all, ToolAfter) || b.Alters(all, TurnDone) || !b.Alters(all, ModelReply) || b.Alters(without, ModelReply) || b.Alters(all, TurnInput) {
		t.Error("only a hook that takes part, and whose answer or failure counts, alters an event")
	}
	if new(Bus).Alters(all, ModelReply) {
		t.Error("a point without hooks alters an event")
	}
}

func TestHooksOfAQueueAreCalledInOrder(t *testing.T) {
	var b Bus
	var mu sync.Mutex
	var told []string
	tell := func(name string) func(context.Context, *Event) (Reply, error) {
		return func(context.Context, *Event) (Reply, error) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, name)
			return Reply{}, nil
		}
	}
	alone := make(chan struct{})
	slow := func(ctx context.Context, _ *Event) (Reply, error) {
		<-alone // the hook beside the queue is called meanwhile
		return tell("slow")(ctx, nil)
	}
	if err := b.Set([]Hook{
		{Plugin: "slow", Point: TurnDone, Position: 1, Queue: "q", Call: slow},
		{Plugin: "second", Point: TurnDone, Position: 2, Queue: "q", Call: tell("second")},
		{Plugin: "other", Point: TurnDone, Position: 3, Call: func(context.Context, *Event) (Reply, error) { close(alone); return Reply{}, nil }},
		{Plugin: "third", Point: TurnDone, Position: 4, Queue: "q", Call: tell("third")},
	}); err != nil {
		t.Fatal(err)
	}
	out, err := b.Fire(t.Context(), TurnDone, nil)
	if err != nil || len(out.Steps) != 4 || out.Steps[0].Plugin != "slow" || out.Steps[2].Plugin != "other" {
		t.Errorf("%+v, %v", out, err)
	}
	if got := strings.Join(told, " "); got != "slow second third" {
		t.Errorf("the queue was called in the order %s", got)
	}
}

// TestClosed: Closed names the plugins without which events at a point are refused.
func TestClosed(t *testing.T) {
	deny := broken("deny", ToolBefore, errors.New("x"))
	deny.OnFailure = ActionDeny
	named := deny
	named.Plugin, named.ByName = "named", true
	lenient := broken("lenient", TurnBegin, errors.New("x"))
	lenient.OnFailure = ActionSkip
	told := broken("told", TurnDone, errors.New("x"))
	told.OnFailure = ActionDeny
	var b Bus
	if err := b.Set([]Hook{answer("open", ToolBefore, Reply{}), deny, deny, named, answer("gate", TurnBegin, Reply{}), lenient, told}); err != nil {
		t.Fatal(err)
	}
	for point, want := range map[Point][]string{ToolBefore: {"deny"}, TurnBegin: {"gate"}, TurnDone: nil, ToolAfter: nil, "no.such": nil} {
		if got := b.Closed(point); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", point, got, want)
		}
	}
}

// TestEncode: a compact payload that no hook has changed is sent without a copy.
func TestEncode(t *testing.T) {
	const payload = `{"message":"hello"}`
	var sent [][]byte
	sends := answer("sends", TurnInput, Reply{})
	sends.Call = func(_ context.Context, ev *Event) (Reply, error) {
		sent = append(sent, ev.Encode(Object{{Name: "message", Value: ev.Payload.Get("message")}}))
		return Reply{}, nil
	}
	sendsAgain := sends
	sendsAgain.Position = 2
	changes := appends("x", TurnInput, "message")
	changes.Position = 1
	var b Bus
	if err := b.Set([]Hook{sends, changes, sendsAgain}); err != nil {
		t.Fatal(err)
	}
	for raw, same := range map[string]bool{payload: true, `{ "message": "hello" }`: false} {
		sent = nil
		text := []byte(raw)
		if _, err := b.Fire(t.Context(), TurnInput, text); err != nil {
			t.Fatal(err)
		}
		if len(sent) != 2 || string(sent[0]) != payload || string(sent[1]) != `{"message":"hellox"}` {
			t.Fatalf("%s: sent %s", raw, sent)
		}
		if (&sent[0][0] == &text[0]) != same {
			t.Errorf("%s: sent without a copy: %v", raw, !same)
		}
	}
}
