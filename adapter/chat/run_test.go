package chat

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
)

func TestTurn(t *testing.T) {
	t.Run("the points come in their order", func(t *testing.T) {
		b := newTestBed(t, say("let me see", call("1", "look", `{}`)), say("I saw"))
		b.says("look", "a tree")
		b.run("what is there?")
		want := "session.start turn.begin turn.input prompt.context prompt.send model.reply " +
			"tool.before tool.resolve tool.after prompt.send model.reply turn.final turn.done session.idle"
		if got := strings.Join(b.fired, " "); got != want {
			t.Errorf("fired\n%s\nwant\n%s", got, want)
		}
	})
	t.Run("everything said is stored, in order", func(t *testing.T) {
		b := newTestBed(t, say("let me see", call("1", "look", `{"at":1}`)), say("I saw"))
		b.says("look", "a tree")
		result := b.run("what is there?")
		want := "user: what is there?\nassistant: let me see look{\"at\":1}\ntool: a tree\nassistant: I saw"
		if got := b.transcript(); got != want {
			t.Errorf("transcript\n%s\nwant\n%s", got, want)
		}
		if result.Text != "I saw" || result.Status != session.Done || result.Usage != (model.Usage{Input: 20, Output: 4}) {
			t.Errorf("result %+v", result)
		}
	})
	t.Run("the user's message is stored before the model is called", func(t *testing.T) {
		b := newTestBed(t)
		var then string
		b.player.replies = []play{func(ctx context.Context, req *model.Request, stream func(model.Delta)) (*model.Response, error) {
			then = b.transcript()
			return nil, errors.New("boom")
		}}
		result, err := b.try(t.Context(), "hi")
		if then != "user: hi" || b.transcript() != "user: hi" {
			t.Errorf("transcript was %q then, and is %q", then, b.transcript())
		}
		if err == nil || result.Status != session.Failed || result.Error == nil || *result.Error != "boom" {
			t.Errorf("result %+v, %v", result, err)
		}
	})
	t.Run("all events have the turn's request and its session", func(t *testing.T) {
		b := newTestBed(t, say("", call("1", "look", `{}`)), say("seen"))
		b.says("look", "a tree")
		for _, p := range []hook.Point{hook.TurnBegin, hook.ToolBefore, hook.ToolAfter, hook.TurnFinal, hook.TurnDone} {
			tap := b.tap(p)
			defer func() {
				if tap.field(0, "session_id") != `"ses_1"` || tap.field(0, "user_text") != `"hi"` || tap.requests[0] != "turn_1" {
					t.Errorf("%s: %s, request %q", p, tap.seen[0].JSON(), tap.requests[0])
				}
			}()
		}
		b.run("hi")
	})
	t.Run("an agent without plugins and tools answers", func(t *testing.T) {
		a := Agent{Model: &player{}}
		result, err := a.Run(t.Context(), Turn{Log: NewMemoryLog(), Text: "hi"})
		if err != nil || result.Text != "done" || !strings.HasPrefix(result.Turn, "turn_") {
			t.Errorf("%+v, %v", result, err)
		}
	})
	t.Run("an agent without a model says so", func(t *testing.T) {
		a := Agent{}
		if result, err := a.Run(t.Context(), Turn{Log: NewMemoryLog(), Text: "hi"}); err == nil || result.Status != session.Failed {
			t.Errorf("%+v, %v", result, err)
		}
	})
}

func TestOpening(t *testing.T) {
	t.Run("session.start fires on an empty transcript only", func(t *testing.T) {
		b := newTestBed(t)
		tap := b.tap(hook.SessionStart)
		b.run("one")
		b.run("two")
		if tap.count() != 1 || tap.field(0, "working_dir") != `"/work dir"` || tap.field(0, "project_root") != `"/work dir"` {
			t.Errorf("%d times, %s", tap.count(), tap.seen[0].JSON())
		}
	})
	t.Run("the injected text opens the conversation", func(t *testing.T) {
		b := newTestBed(t)
		b.answer("notes", hook.SessionStart, hook.Reply{Set: set("inject", "remember the milk")})
		b.run("hi")
		if got := lines(b.player.requests[0].Messages); got != "system: remember the milk\nuser: hi" {
			t.Errorf("the model saw %q", got)
		}
	})
	t.Run("a refusal at turn.begin skips the turn and says why", func(t *testing.T) {
		b := newTestBed(t)
		b.answer("gate", hook.TurnBegin, hook.Reply{Verdict: hook.Deny, Reason: "not on Sundays", Suggest: "wait"})
		done := b.tap(hook.TurnDone)
		result := b.run("hi")
		if !result.Skipped || result.Status != session.Skipped || result.Reason != "not on Sundays" || result.Suggest != "wait" || result.Error != nil {
			t.Errorf("result %+v", result)
		}
		if len(b.player.requests) != 0 || b.transcript() != "" || done.count() != 1 {
			t.Errorf("asked %d times, transcript %q, done %d times", len(b.player.requests), b.transcript(), done.count())
		}
	})
	t.Run("a dropped message is not sent", func(t *testing.T) {
		b := newTestBed(t)
		b.answer("filter", hook.TurnInput, hook.Reply{Verdict: hook.Skip})
		result := b.run("/own command")
		if !result.Skipped || len(b.player.requests) != 0 || b.transcript() != "" || !strings.Contains(result.Reason, "filter") {
			t.Errorf("result %+v, transcript %q", result, b.transcript())
		}
	})
	t.Run("a rewritten message is stored and sent", func(t *testing.T) {
		b := newTestBed(t)
		b.answer("tidy", hook.TurnInput, hook.Reply{Set: set("message", "tidy")})
		context := b.tap(hook.PromptContext)
		b.run("  untidy ")
		if b.transcript() != "user: tidy\nassistant: done" || context.field(0, "user_message") != `"tidy"` {
			t.Errorf("transcript %q, context for %s", b.transcript(), context.field(0, "user_message"))
		}
	})
	t.Run("stop at turn.input ends the chain, not the turn", func(t *testing.T) {
		b := newTestBed(t)
		b.answer("last", hook.TurnInput, hook.Reply{Verdict: hook.Stop, Set: set("message", "mine")})
		later := b.tap(hook.TurnInput)
		if result := b.run("hi"); result.Skipped || later.count() != 0 || b.transcript() != "user: mine\nassistant: done" {
			t.Errorf("%+v, transcript %q", result, b.transcript())
		}
	})
	t.Run("an empty message is not sent", func(t *testing.T) {
		b := newTestBed(t)
		if result := b.run(" \n"); !result.Skipped || len(b.player.requests) != 0 {
			t.Errorf("%+v", result)
		}
	})
}

func TestPrompt(t *testing.T) {
	t.Run("the default names the working directory, and another prompt replaces it", func(t *testing.T) {
		b := newTestBed(t)
		b.run("hi")
		b.Prompt = "You are a pirate."
		b.run("hi")
		first, second := b.player.requests[0].System, b.player.requests[1].System
		if !strings.Contains(first, "/work dir") || second != "You are a pirate." {
			t.Errorf("prompts %q and %q", first, second)
		}
	})
	t.Run("the context is built once a turn and comes after the base prompt", func(t *testing.T) {
		b := newTestBed(t, say("", call("1", "look", `{}`)))
		b.says("look", "")
		b.Prompt = "Base."
		n := 0
		b.plug("git", hook.PromptContext, func(context.Context, *hook.Event) (hook.Reply, error) {
			n++
			return hook.Reply{Set: set("dynamic_context", "\n\nBranch: main\n")}, nil
		})
		b.run("hi")
		for _, r := range b.player.requests {
			if r.System != "Base.\n\nBranch: main" {
				t.Errorf("prompt %q", r.System)
			}
		}
		if n != 1 || len(b.player.requests) != 2 {
			t.Errorf("gathered %d times for %d calls", n, len(b.player.requests))
		}
	})
	t.Run("prompt.send fires before each call, with the prompt as built", func(t *testing.T) {
		b := newTestBed(t, say("", call("1", "look", `{}`)))
		b.says("look", "")
		b.Prompt = "Base."
		b.plug("more", hook.PromptSend, func(_ context.Context, ev *hook.Event) (hook.Reply, error) {
			base, _ := ev.Payload.String("base_prompt")
			return hook.Reply{Set: set("base_prompt", base+" More.")}, nil
		})
		b.run("hi")
		if got := []string{b.player.requests[0].System, b.player.requests[1].System}; !slices.Equal(got, []string{"Base. More.", "Base. More."}) {
			t.Errorf("prompts %q: additions must not pile up", got)
		}
	})
	t.Run("stop at prompt.send ends the chain, not the turn", func(t *testing.T) {
		b := newTestBed(t)
		b.answer("last", hook.PromptSend, hook.Reply{Verdict: hook.Stop, Set: set("base_prompt", "Mine.")})
		if result := b.run("hi"); result.Skipped || b.player.requests[0].System != "Mine." {
			t.Errorf("%+v, prompt %q", result, b.player.requests[0].System)
		}
	})
	t.Run("deny at prompt.send refuses the turn, and the user's message stays", func(t *testing.T) {
		b := newTestBed(t)
		b.answer("budget", hook.PromptSend, hook.Reply{Verdict: hook.Deny, Reason: "too dear"})
		if result := b.run("hi"); !result.Skipped || result.Reason != "too dear" || b.transcript() != "user: hi" || len(b.player.requests) != 0 {
			t.Errorf("%+v, transcript %q", result, b.transcript())
		}
	})
}

func TestReply(t *testing.T) {
	t.Run("plugins change the text that is stored and shown", func(t *testing.T) {
		b := newTestBed(t, say("a secret"))
		b.answer("redact", hook.ModelReply, hook.Reply{Set: set("text", "a [redacted]")})
		result := b.run("hi")
		if result.Text != "a [redacted]" || !strings.HasSuffix(b.transcript(), "assistant: a [redacted]") {
			t.Errorf("result %q, transcript %q", result.Text, b.transcript())
		}
		if shown := b.of(ModelReplied); len(shown) != 1 || shown[0].Text != "a [redacted]" {
			t.Errorf("shown %+v", shown)
		}
	})
	t.Run("plugins change the tool calls that are run", func(t *testing.T) {
		b := newTestBed(t, say("", call("1", "look", `{}`)))
		b.says("listen", "a bird")
		b.answer("swap", hook.ModelReply, hook.Reply{Set: raw("tool_calls", `[{"name":"listen","arguments":"{\"to\":1}"}]`)})
		b.hooks[0].Match = func(ev *hook.Event) bool { return string(ev.Payload.Get("tool_calls")) != "[]" }
		result := b.run("hi")
		if len(result.Tools) != 1 || result.Tools[0].Name != "listen" || string(result.Tools[0].Arguments) != `{"to":1}` || result.Tools[0].CallID == "" {
			t.Errorf("tools %+v", result.Tools)
		}
	})
	t.Run("invalid tool calls from a plugin are not run", func(t *testing.T) {
		b := newTestBed(t, say("", call("1", "look", `{}`)))
		b.says("look", "never")
		b.answer("clumsy", hook.ModelReply, hook.Reply{Set: raw("tool_calls", `{"name":"look"}`)})
		if result, err := b.try(t.Context(), "hi"); err == nil || len(result.Tools) != 0 || result.Status != session.Failed {
			t.Errorf("%+v, %v", result, err)
		}
	})
	t.Run("a refused reply is neither stored nor shown", func(t *testing.T) {
		b := newTestBed(t, say("how to build a bomb", call("1", "look", `{}`)))
		b.answer("censor", hook.ModelReply, hook.Reply{Verdict: hook.Deny, Reason: "no"})
		result := b.run("hi")
		if !result.Skipped || result.Reason != "no" || result.Text != "" || b.transcript() != "user: hi" {
			t.Errorf("%+v, transcript %q", result, b.transcript())
		}
		if shown := b.of(ModelReplied); len(shown) != 1 || shown[0].Text != "" {
			t.Errorf("shown %+v: the streamed text must be removed", shown)
		}
	})
	t.Run("a provider that refuses to answer is an error", func(t *testing.T) {
		b := newTestBed(t, func(context.Context, *model.Request, func(model.Delta)) (*model.Response, error) {
			return &model.Response{Stop: model.StopRefusal}, nil
		})
		if _, err := b.try(t.Context(), "hi"); !errors.Is(err, errRefused) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a retry discards the streamed text", func(t *testing.T) {
		b := newTestBed(t, func(ctx context.Context, req *model.Request, stream func(model.Delta)) (*model.Response, error) {
			stream(model.Delta{Text: "half a"})
			stream(model.Delta{Retry: &model.Retry{Attempt: 2, Err: errors.New("connection lost")}})
			return say("whole")(ctx, req, stream)
		})
		result := b.run("hi")
		if again := b.of(Retrying); len(again) != 1 || !strings.Contains(again[0].Text, "connection lost") || result.Text != "whole" {
			t.Errorf("%+v, text %q", again, result.Text)
		}
	})
}
