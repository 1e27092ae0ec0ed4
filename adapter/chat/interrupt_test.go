package chat

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patchbay-dev/patchbay/adapter"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// hang returns a model reply that says something and then waits until it is interrupted.
func hang(text string, hung func()) play {
	return func(ctx context.Context, _ *model.Request, stream func(model.Delta)) (*model.Response, error) {
		stream(model.Delta{Text: text})
		hung()
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

func TestInterrupt(t *testing.T) {
	t.Run("the streamed text is stored and marked", func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		b := newTestBed(t, hang("once upon a", interrupt))
		result, err := b.try(ctx, "tell me a story")
		if !errors.Is(err, context.Canceled) || result.Status != session.Interrupted || result.Error == nil || *result.Error != "interrupted" {
			t.Errorf("%+v, %v", result, err)
		}
		if want := "user: tell me a story\nassistant: once upon a" + interruptedMark; result.Text != "once upon a" || b.transcript() != want {
			t.Errorf("text %q, transcript %q", result.Text, b.transcript())
		}
	})
	t.Run("nothing is stored if nothing was streamed", func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		b := newTestBed(t, hang("", interrupt))
		if _, err := b.try(ctx, "hi"); err == nil || b.transcript() != "user: hi" {
			t.Errorf("%v, transcript %q", err, b.transcript())
		}
	})
	t.Run("the error has the cause", func(t *testing.T) {
		lost := errors.New("somebody else took the session")
		ctx, interrupt := context.WithCancelCause(t.Context())
		b := newTestBed(t, hang("", func() { interrupt(lost) }))
		result, err := b.try(ctx, "hi")
		if !errors.Is(err, lost) || *result.Error != "interrupted: "+lost.Error() {
			t.Errorf("%+v, %v", result, err)
		}
	})
	t.Run("tools are ended, and calls without a result get one", func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		b := newToolBed(t, call("1", "quick", `{}`), call("2", "slow", `{}`))
		b.says("quick", "here")
		kept := &signalLog{MemoryLog: b.log, want: "here", seen: make(chan struct{})}
		b.tool("slow", func(ctx context.Context, _ Call) (ToolResult, error) {
			<-kept.seen
			interrupt()
			<-ctx.Done()
			return ToolResult{}, ctx.Err()
		})
		turn := b.turn("hi")
		turn.Log = kept
		result, err := b.Run(ctx, turn)
		if !errors.Is(err, context.Canceled) || result.Status != session.Interrupted || len(result.Tools) != 2 {
			t.Errorf("%+v, %v", result, err)
		}
		if got := b.transcript(); !strings.HasSuffix(got, "tool: here\ntool: interrupted (failed)") {
			t.Errorf("transcript %q", got)
		}
	})
	t.Run("tools that had not started do not start", func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		var calls []model.ToolCall
		for range parallel + 3 {
			calls = append(calls, call("", "stop", `{}`))
		}
		b := newToolBed(t, calls...)
		b.tool("stop", func(ctx context.Context, _ Call) (ToolResult, error) {
			interrupt()
			<-ctx.Done()
			return ToolResult{}, ctx.Err()
		})
		result, err := b.try(ctx, "hi")
		if err == nil || len(result.Tools) != len(calls) || len(b.of(ToolStarted)) > parallel {
			t.Errorf("%v, %d results, %d begun", err, len(result.Tools), len(b.of(ToolStarted)))
		}
	})
	t.Run("an unanswered question ends with the turn", func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		b := newToolBed(t, call("1", "write", `{}`), call("2", "write", `{}`))
		b.echo("write").Changes = true
		b.Approve = func(ctx context.Context, _ Tool, _ model.ToolCall) (Approval, error) {
			interrupt()
			<-ctx.Done()
			return Approval{}, ctx.Err()
		}
		result, err := b.try(ctx, "hi")
		if err == nil || result.Tools[0].Result != adapter.InterruptedTool || result.Tools[1].Result != adapter.InterruptedTool {
			t.Errorf("%+v, %v", result, err)
		}
	})
	t.Run("turn.done fires, in a context that has not ended", func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		b := newTestBed(t, hang("", interrupt))
		var alive error
		b.plug("watcher", hook.TurnDone, func(ctx context.Context, _ *hook.Event) (hook.Reply, error) {
			alive = ctx.Err()
			return hook.Reply{}, nil
		})
		done := b.tap(hook.TurnDone)
		if _, err := b.try(ctx, "hi"); err == nil || alive != nil || done.field(0, "error") != `"interrupted"` {
			t.Errorf("%v, context %v, error %s", err, alive, done.field(0, "error"))
		}
	})
	t.Run("a running observer is interrupted, and the text is stored", func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		b := newTestBed(t, say("the end"))
		b.plug("slow", hook.TurnFinal, func(ctx context.Context, _ *hook.Event) (hook.Reply, error) {
			interrupt()
			<-ctx.Done()
			return hook.Reply{}, ctx.Err()
		}).Observer = true
		result, err := b.try(ctx, "hi")
		if !errors.Is(err, context.Canceled) || result.Text != "the end" || !strings.Contains(b.transcript(), "assistant: the end") {
			t.Errorf("%+v, %v, transcript %q", result, err, b.transcript())
		}
	})
}

func TestTheWaitAtTurnDoneIsLimited(t *testing.T) {
	// told returns how long the agent waits at turn.done for a plugin that never answers.
	told := func(t *testing.T, interruptAfter time.Duration) (took time.Duration) {
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		b := newTestBed(t)
		b.plug("deaf", hook.TurnDone, func(ctx context.Context, _ *hook.Event) (hook.Reply, error) {
			began := time.Now()
			if interruptAfter > 0 {
				time.AfterFunc(interruptAfter, interrupt)
			}
			<-ctx.Done()
			took = time.Since(began)
			return hook.Reply{}, ctx.Err()
		})
		if result, err := b.try(ctx, "hi"); err != nil || result.Status != session.Done {
			t.Errorf("%+v, %v: the plugin's failure must change nothing", result, err)
		}
		return took
	}
	t.Run("the wait for plugins at turn.done is limited", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			if took := told(t, 0); took != afterTurnTimeout {
				t.Errorf("waited %s, want %s", took, afterTurnTimeout)
			}
		})
	})
	t.Run("the wait is shorter after the user has interrupted the turn", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			if took := told(t, time.Second); took != time.Second+afterInterruptTimeout {
				t.Errorf("waited %s, want %s", took, time.Second+afterInterruptTimeout)
			}
		})
	})
}
