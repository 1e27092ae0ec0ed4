package chat

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// shown returns everything of a turn that an observer reads, except for the trace.
func (b *testBed) shown() string {
	var all strings.Builder
	for _, e := range b.events {
		if e.Type == TextDelta || e.Type == ModelReplied {
			all.WriteString(e.Text)
		}
		if e.Result != nil {
			all.WriteString(e.Result.Text)
		}
	}
	return all.String()
}

// upper is a plugin that changes text.
func upper(_ context.Context, ev *hook.Event) (hook.Reply, error) {
	text, _ := ev.Payload.String("text")
	return hook.Reply{Set: set("text", strings.ToUpper(text))}, nil
}

// Replies are held because post_llm_response runs before display (docs/protocols/scaffold.md).
func TestRepliesAreHeldUntilPluginsHaveSeenThem(t *testing.T) {
	for _, point := range []hook.Point{hook.ModelReply, hook.TurnFinal} {
		t.Run(string(point), func(t *testing.T) {
			b := newTestBed(t, say("the secret word"))
			b.plug("upper", point, upper)
			result := b.run("hi")
			if got := b.of(TextDelta); len(got) != 0 {
				t.Errorf("%d pieces were shown before the plugin had seen them", len(got))
			}
			if result.Text != "THE SECRET WORD" || strings.Contains(b.shown(), "secret") {
				t.Errorf("result %q, shown %q", result.Text, b.shown())
			}
			if held := b.of(TextHeld); len(held) != 3 || held[2].Held != len("the secret word") || held[0].Text != "" {
				t.Errorf("the events of the held text are %+v", held)
			}
		})
	}
	t.Run("a reply with tool calls is shown after model.reply, before the tools run", func(t *testing.T) {
		b := newToolBed(t)
		b.player.replies = []play{say("let me look", call("1", "look", `{}`)), say("there")}
		b.says("look", "seen")
		b.plug("upper", hook.TurnFinal, upper)
		b.run("hi")
		var order []string
		for _, e := range b.events {
			if e.Type == ModelReplied || e.Type == ToolStarted {
				order = append(order, string(e.Type)+" "+e.Text)
			}
		}
		if got := strings.Join(order, ", "); got != "reply let me look, tool.started , reply THERE" {
			t.Errorf("shown in the order %s", got)
		}
	})
	t.Run("plugins that only observe hold nothing", func(t *testing.T) {
		b := newTestBed(t, say("word by word"))
		b.tap(hook.TurnFinal)
		b.hooks[0].Observer = true
		if b.run("hi"); len(b.of(TextDelta)) != 3 || len(b.of(TextHeld)) != 0 {
			t.Errorf("%d pieces streamed, %d held", len(b.of(TextDelta)), len(b.of(TextHeld)))
		}
	})
	t.Run("plugins that only observe hold a reply if their failure discards it", func(t *testing.T) {
		b := newTestBed(t, say("word by word"))
		h := b.plug("archive", hook.TurnFinal, func(context.Context, *hook.Event) (hook.Reply, error) {
			return hook.Reply{}, errors.New("the disk is full")
		})
		h.Observer, h.OnFailure = true, hook.ActionDeny
		if b.run("hi"); b.shown() != "" {
			t.Errorf("shown %q", b.shown())
		}
	})
	t.Run("plugins that are not chosen for the session hold nothing", func(t *testing.T) {
		b := newTestBed(t, say("word by word"))
		b.plug("upper", hook.TurnFinal, upper)
		ctx := hook.WithChoice(t.Context(), hook.Choice{Dialect: "test", Plugins: []string{"other"}})
		if _, err := b.try(ctx, "hi"); err != nil || len(b.of(TextDelta)) != 3 {
			t.Errorf("%v, %d pieces streamed", err, len(b.of(TextDelta)))
		}
	})
	t.Run("plugins at other points hold nothing", func(t *testing.T) {
		b := newTestBed(t, say("word by word"))
		b.tap(hook.TurnInput)
		b.tap(hook.TurnDone)
		if b.run("hi"); len(b.of(TextDelta)) != 3 {
			t.Errorf("%d pieces streamed", len(b.of(TextDelta)))
		}
	})
	t.Run("a retry counts the held text from zero", func(t *testing.T) {
		b := newTestBed(t, func(_ context.Context, _ *model.Request, stream func(model.Delta)) (*model.Response, error) {
			stream(model.Delta{Text: "the sec"})
			stream(model.Delta{Retry: &model.Retry{Attempt: 2}})
			stream(model.Delta{Text: "hé"})
			return &model.Response{Text: "hé"}, nil
		})
		b.plug("upper", hook.TurnFinal, upper)
		b.run("hi")
		if held := b.of(TextHeld); len(held) != 2 || held[1].Held != 2 || strings.Contains(b.shown(), "sec") {
			t.Errorf("held %+v, shown %q", held, b.shown())
		}
	})
}

// TestAnInterruptedTurnShowsNothingThatPluginsHaveNotSeen: a reply that is cut off is not shown. It
// is not stored either, because a resumed session would show it.
func TestAnInterruptedTurnShowsNothingThatPluginsHaveNotSeen(t *testing.T) {
	silent := func(t *testing.T, b *testBed, result *Result, err error) {
		t.Helper()
		if !errors.Is(err, context.Canceled) || result.Status != session.Interrupted || result.Text != "" {
			t.Errorf("%+v, %v", result, err)
		}
		if b.shown() != "" || b.transcript() != "user: hi" {
			t.Errorf("shown %q, transcript %q", b.shown(), b.transcript())
		}
	}
	t.Run("while the model talks", func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		b := newTestBed(t, hang("the secret", interrupt))
		b.plug("upper", hook.TurnFinal, upper)
		done := b.tap(hook.TurnDone)
		result, err := b.try(ctx, "hi")
		silent(t, b, result, err)
		if done.field(0, "text") != `""` {
			t.Errorf("turn.done has the text %s", done.field(0, "text"))
		}
	})
	for _, point := range []hook.Point{hook.ModelReply, hook.TurnFinal} {
		t.Run("while a plugin has the reply: "+string(point), func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			b := newTestBed(t, say("the secret"))
			b.plug("slow", point, func(ctx context.Context, _ *hook.Event) (hook.Reply, error) {
				interrupt()
				<-ctx.Done()
				return hook.Reply{}, ctx.Err()
			})
			result, err := b.try(ctx, "hi")
			silent(t, b, result, err)
		})
	}
	t.Run("a turn that a plugin's failure ended shows nothing either", func(t *testing.T) {
		b := newTestBed(t, say("the secret"))
		b.plug("broken", hook.TurnFinal, func(context.Context, *hook.Event) (hook.Reply, error) {
			return hook.Reply{}, errors.New("no")
		}).OnFailure = hook.ActionAbort
		if result, err := b.try(t.Context(), "hi"); err == nil || result.Text != "" || b.shown() != "" || b.transcript() != "user: hi" {
			t.Errorf("%v, %+v, shown %q, transcript %q", err, result, b.shown(), b.transcript())
		}
	})
}
