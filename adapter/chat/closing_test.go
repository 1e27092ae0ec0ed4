package chat

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
)

func TestFinal(t *testing.T) {
	t.Run("the answer is returned, stored and shown as plugins changed it", func(t *testing.T) {
		b := newTestBed(t, say("yes"))
		b.answer("sign", hook.TurnFinal, hook.Reply{Set: set("text", "yes -- me")})
		result := b.run("hi")
		shown := b.of(ModelReplied)
		if result.Text != "yes -- me" || !strings.HasSuffix(b.transcript(), "assistant: yes -- me") || len(shown) != 1 || shown[0].Text != "yes -- me" {
			t.Errorf("result %q, transcript %q, shown %+v", result.Text, b.transcript(), shown)
		}
	})
	t.Run("turn.final is not fired for an empty answer", func(t *testing.T) {
		b := newTestBed(t, say(""))
		b.run("hi")
		if slices.Contains(b.fired, string(hook.TurnFinal)) {
			t.Errorf("fired %q", b.fired)
		}
	})
	t.Run("a refused answer is neither stored nor returned", func(t *testing.T) {
		b := newTestBed(t, say("yes"))
		b.answer("censor", hook.TurnFinal, hook.Reply{Verdict: hook.Deny, Reason: "no"})
		if result := b.run("hi"); !result.Skipped || result.Text != "" || b.transcript() != "user: hi" {
			t.Errorf("%+v, transcript %q", result, b.transcript())
		}
	})
	t.Run("a plugin whose failure aborts ends the turn with its error, and the text is neither shown nor stored", func(t *testing.T) {
		for _, point := range []hook.Point{hook.ModelReply, hook.TurnFinal} {
			b := newTestBed(t, say("yes"))
			h := b.plug("broken", point, func(context.Context, *hook.Event) (hook.Reply, error) { return hook.Reply{}, errors.New("boom") })
			h.OnFailure = hook.ActionAbort
			result, err := b.try(t.Context(), "hi")
			if e, ok := errors.AsType[*hook.Error](err); !ok || e.Plugin != "broken" || result.Status != session.Failed {
				t.Errorf("%s: %+v, %v", point, result, err)
			}
			if result.Text != "" || b.transcript() != "user: hi" {
				t.Errorf("%s: text %q, transcript %q", point, result.Text, b.transcript())
			}
		}
	})
}

func TestDone(t *testing.T) {
	t.Run("turn.done has the text, the tools, the time and no error", func(t *testing.T) {
		b := newTestBed(t, say("", call("1", "look", `{}`)), say("seen"))
		b.says("look", "a tree")
		done := b.tap(hook.TurnDone)
		b.run("hi")
		var tools []ToolUse
		if err := json.Unmarshal([]byte(done.field(0, "tools")), &tools); err != nil || len(tools) != 1 || tools[0].Result != "a tree" {
			t.Errorf("tools %s", done.field(0, "tools"))
		}
		var seconds float64
		if err := json.Unmarshal([]byte(done.field(0, "duration")), &seconds); err != nil || seconds <= 0 {
			t.Errorf("duration %s", done.field(0, "duration"))
		}
		if done.field(0, "text") != `"seen"` || done.field(0, "error") != "null" {
			t.Errorf("text %s, error %s", done.field(0, "text"), done.field(0, "error"))
		}
	})
	t.Run("turn.done has the error of a turn that failed", func(t *testing.T) {
		b := newTestBed(t, fail(errors.New("boom")))
		done := b.tap(hook.TurnDone)
		if _, err := b.try(t.Context(), "hi"); err == nil || done.field(0, "error") != `"boom"` || done.field(0, "tools") != "[]" {
			t.Errorf("%v, error %s, tools %s", err, done.field(0, "error"), done.field(0, "tools"))
		}
	})
	t.Run("session.idle has the transcript", func(t *testing.T) {
		b := newTestBed(t)
		idle := b.tap(hook.SessionIdle)
		b.run("hi")
		want := `[{"role":"user","content":"hi"},{"role":"assistant","content":"done"}]`
		if got := idle.field(0, "transcript"); got != want {
			t.Errorf("transcript %s, want %s", got, want)
		}
	})
	t.Run("session.end names the session", func(t *testing.T) {
		b := newTestBed(t)
		end := b.tap(hook.SessionEnd)
		if err := b.bus.Set(b.hooks); err != nil {
			t.Fatal(err)
		}
		if err := b.End(t.Context(), session.Session{ID: "ses_9"}); err != nil || end.field(0, "session_id") != `"ses_9"` {
			t.Errorf("%v, %s", err, end.field(0, "session_id"))
		}
	})
}

func TestSteps(t *testing.T) {
	endless := func(context.Context, *model.Request, func(model.Delta)) (*model.Response, error) {
		return &model.Response{Text: "on", ToolCalls: []model.ToolCall{{Name: "look"}}}, nil
	}
	t.Run("the prompt of the last call says that it is the last", func(t *testing.T) {
		b := newTestBed(t, endless)
		b.says("look", "")
		b.Steps = 2
		result := b.run("hi")
		first, last := b.player.requests[0], b.player.requests[1]
		if strings.Contains(first.System, lastStep) || !strings.Contains(last.System, lastStep) || len(last.Tools) != 1 || result.Status != session.Done {
			t.Errorf("first %q, last %q, %+v", first.System, last.System, result)
		}
	})
	t.Run("a model that asks for more is stopped, and every call has a result", func(t *testing.T) {
		b := newTestBed(t, endless, endless, endless)
		b.says("look", "")
		b.Steps = 2
		result, err := b.try(t.Context(), "hi")
		if !errors.Is(err, ErrSteps) || result.Status != session.Failed || len(b.player.requests) != 2 || len(result.Tools) != 1 {
			t.Errorf("%+v, %v", result, err)
		}
		if last := b.log.Messages()[len(b.log.Messages())-1]; last.Role != model.ToolRole || !last.Failed || last.ToolCallID == "" {
			t.Errorf("the last message is %+v", last)
		}
	})
}

func TestEvents(t *testing.T) {
	t.Run("events come in order, with session, turn and time", func(t *testing.T) {
		b := newTestBed(t, say("let me", call("1", "look", `{}`)), say("seen it"))
		b.tool("look", func(_ context.Context, c Call) (ToolResult, error) {
			c.Progress("looking")
			return ToolResult{Output: "a tree", Success: true}, nil
		})
		b.tap(hook.TurnInput)
		b.run("hi")
		var types []string
		for _, e := range b.events {
			types = append(types, string(e.Type))
			if e.Session != "ses_1" || e.Turn != "turn_1" || e.Time.IsZero() {
				t.Errorf("event %+v", e)
			}
		}
		want := "turn.started point text text reply tool.started tool.output tool.finished text text reply turn.finished"
		if got := strings.Join(types, " "); got != want {
			t.Errorf("events\n%s\nwant\n%s", got, want)
		}
		if out := b.events[1].Outcome; out.Point != hook.TurnInput || len(out.Steps) != 1 {
			t.Errorf("the point's outcome is %+v", out)
		}
	})
	t.Run("a result prints as programs expect it", func(t *testing.T) {
		b := newTestBed(t)
		text, err := json.Marshal(b.run("hi"))
		want := `{"session_id":"ses_1","text":"done","skipped":false,"tools":[],"error":null,"turn":"turn_1","status":"done","usage":{"input":10,"output":2}}`
		if err != nil || string(text) != want {
			t.Errorf("got\n%s\nwant\n%s", text, want)
		}
	})
}
