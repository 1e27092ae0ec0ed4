package command

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/rawjson"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// busHost is a host whose plugins are bare functions.
type busHost struct{ hook.Bus }

func (b *busHost) Fire(ctx context.Context, p hook.Point, payload any) (*hook.Outcome, error) {
	raw, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	return b.Bus.Fire(ctx, p, raw)
}

func (b *busHost) Wants(p hook.Point, payload any) bool {
	raw, err := json.Marshal(payload)
	return err == nil && b.Bus.Wants(p, raw)
}

// journal is a program that writes down what happens to it.
type journal struct {
	events []string
	fail   error
}

func (j *journal) note(what string, c Command) {
	j.events = append(j.events, what+" "+c.Name+" "+strings.Join(c.Args, ",")+" "+string(c.Result))
}

func (j *journal) Parse(ctx context.Context, c Command, then func(context.Context, Command) error) error {
	j.note("parse", c)
	c.Flags = map[string]string{"parsed": "yes"}
	return then(ctx, c)
}

func (j *journal) Execute(_ context.Context, c Command, capture bool) (json.RawMessage, error) {
	j.note("execute", c)
	if capture {
		return json.RawMessage(`"out"`), j.fail
	}
	return nil, j.fail
}

func (j *journal) Show(c Command) error { j.note("show", c); return nil }

// on is a plugin at one point.
func on(p hook.Point, reply hook.Reply) hook.Hook {
	return hook.Hook{Plugin: "p", Dialect: "mine", Name: "h", Point: p,
		Call: func(context.Context, *hook.Event) (hook.Reply, error) { return reply, nil }}
}

func set(name, raw string) hook.Object {
	return hook.Object{{Name: name, Value: json.RawMessage(raw)}}
}

func runWith(t *testing.T, j *journal, hooks ...hook.Hook) error {
	t.Helper()
	host := &busHost{hook.Bus{Failures: dialect.Failures}}
	done := on(hook.CommandDone, hook.Reply{})
	done.Call = func(_ context.Context, ev *hook.Event) (hook.Reply, error) {
		args, _ := ev.Payload.String("command")
		j.events = append(j.events, strings.TrimSpace("done "+args+" "+string(ev.Payload.Get("result"))+" "+string(ev.Payload.Get("error"))))
		return hook.Reply{}, nil
	}
	if err := host.Set(append(hooks, done)); err != nil {
		t.Fatal(err)
	}
	p := &Pipeline{Host: host, Now: func() time.Time { return time.Unix(0, 0) }}
	return p.Run(t.Context(), Command{Name: "c", Args: []string{"a"}}, j)
}

func (j *journal) check(t *testing.T, want ...string) {
	t.Helper()
	if got := strings.Join(j.events, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestStages(t *testing.T) {
	t.Run("without plugins nothing is captured or shown twice", func(t *testing.T) {
		var j journal
		if err := runWith(t, &j); err != nil {
			t.Fatal(err)
		}
		j.check(t, "parse c a null", "execute c a null", "done c null")
	})
	t.Run("arguments are rewritten before and after parsing", func(t *testing.T) {
		var j journal
		err := runWith(t, &j, on(hook.CommandValidate, hook.Reply{Set: set("args", `["b"]`)}), on(hook.CommandBefore, hook.Reply{Set: set("args", `["b","d"]`)}))
		if err != nil {
			t.Fatal(err)
		}
		j.check(t, "parse c b null", "execute c b,d null", "done c null")
	})
	t.Run("output is captured and transformed if a plugin wants it", func(t *testing.T) {
		var j journal
		if err := runWith(t, &j, on(hook.CommandAfter, hook.Reply{Set: hook.Object{{Name: "result", Value: rawjson.String("new")}}})); err != nil {
			t.Fatal(err)
		}
		j.check(t, "parse c a null", "execute c a null", `show c a "new"`, `done c "new"`)
	})
	t.Run("a command that has run keeps its name", func(t *testing.T) {
		var j journal
		if err := runWith(t, &j, on(hook.CommandAfter, hook.Reply{Set: set("command", `"other"`)})); err != nil {
			t.Fatal(err)
		}
		j.check(t, "parse c a null", "execute c a null", `show c a "out"`, `done c "out"`)
	})
	t.Run("a NUL byte in the command line is an error that names the plugin", func(t *testing.T) {
		var j journal
		guilty := on(hook.CommandBefore, hook.Reply{Set: set("args", `["b","c\u0000"]`)})
		guilty.Plugin = "guilty"
		err := runWith(t, &j, guilty, on(hook.CommandBefore, hook.Reply{Set: set("flags", `{"x":"y"}`)}))
		const want = `plugin guilty (mine) h at command.before: it put a NUL byte into the command line, and no program can get one: "c\x00"`
		if failed, ok := errors.AsType[*hook.Error](err); !ok || !strings.HasPrefix(failed.Error(), want) {
			t.Errorf("error %v", err)
		}
		if len(j.events) != 2 || j.events[0] != "parse c a null" {
			t.Errorf("the command ran: %q", j.events)
		}
	})
	t.Run("a plugin answers in the command's place", func(t *testing.T) {
		var j journal
		if err := runWith(t, &j, on(hook.CommandBefore, hook.Reply{Verdict: hook.Stop, Set: set("result", `"mine"`)})); err != nil {
			t.Fatal(err)
		}
		j.check(t, "parse c a null", `show c a "mine"`, `done c "mine"`)
	})
	t.Run("a refusal is an error with its reason, and command.done is fired", func(t *testing.T) {
		var j journal
		err := runWith(t, &j, on(hook.CommandBefore, hook.Reply{Verdict: hook.Deny, Reason: "no", Suggest: "ask"}))
		refused, ok := errors.AsType[*Refused](err)
		if !ok || refused.Reason != "no" || refused.Suggest != "ask" || refused.Plugin != "p" || refused.Point != hook.CommandBefore {
			t.Errorf("error %v", err)
		}
		j.check(t, "parse c a null", `done c null "c was refused by plugin p at command.before: no"`)
	})
	t.Run("a refusal after the command says that it has run", func(t *testing.T) {
		var j journal
		err := runWith(t, &j, on(hook.CommandAfter, hook.Reply{Verdict: hook.Deny, Reason: "no"}))
		if want := "c has run, but plugin p refused its output at command.after: no"; err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	})
	t.Run("a failure after the command that refuses says that it has run", func(t *testing.T) {
		var j journal
		broken := on(hook.CommandAfter, hook.Reply{})
		broken.Call = func(context.Context, *hook.Event) (hook.Reply, error) { return hook.Reply{}, errors.New("boom") }
		broken.OnFailure = hook.ActionDeny
		err := runWith(t, &j, broken)
		if want := "c has run, but its output is withheld, because a plugin failed: plugin p (mine) h at command.after: boom"; err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	})
	t.Run("a stop without a result is a refusal", func(t *testing.T) {
		var j journal
		err := runWith(t, &j, on(hook.CommandValidate, hook.Reply{Verdict: hook.Stop}))
		if _, ok := errors.AsType[*Refused](err); !ok {
			t.Errorf("error %v", err)
		}
		j.check(t, `done c null "c was refused by plugin p at command.validate"`)
	})
	t.Run("a plugin's error aborts and names the hook", func(t *testing.T) {
		var j journal
		broken := on(hook.CommandBefore, hook.Reply{})
		broken.Call = func(context.Context, *hook.Event) (hook.Reply, error) { return hook.Reply{}, errors.New("boom") }
		err := runWith(t, &j, broken)
		if err == nil || !strings.Contains(err.Error(), "plugin p (mine) h at command.before: boom") {
			t.Errorf("error %v", err)
		}
		j.check(t, "parse c a null", `done c null "plugin p (mine) h at command.before: boom"`)
	})
	t.Run("the command's own error is passed on", func(t *testing.T) {
		j := journal{fail: errors.New("exit 3")}
		if err := runWith(t, &j); err == nil || err.Error() != "exit 3" {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a payload that is not a command is an error", func(t *testing.T) {
		var j journal
		if err := runWith(t, &j, on(hook.CommandBefore, hook.Reply{Set: set("args", `"text"`)})); err == nil || !strings.Contains(err.Error(), `not a command: "{`) || strings.Contains(err.Error(), "Go ") {
			t.Errorf("error %v", err)
		}
	})
}

// TestExact: a field that is written in another case is another field.
func TestExact(t *testing.T) {
	for value, want := range map[string]string{
		`{"stdout":"seen","Stdout":"unseen","STDERR":"unseen","other":1}`: `{"stdout":"seen"}`,
		`{"stdout":"a","stdout":"b"}`:                                     `{"stdout":"b"}`,
		`"text"`:                                                          `"text"`,
		`null`:                                                            `null`,
	} {
		if got := string(Exact(json.RawMessage(value), "stdout", "stderr")); got != want {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
	}
}
