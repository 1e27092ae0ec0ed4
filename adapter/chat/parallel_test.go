package chat

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
)

func TestApproval(t *testing.T) {
	t.Run("the time until the answer does not count as the tool's", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newToolBed(t, call("1", "rm", `{}`))
			b.echo("rm").Changes = true
			b.Approve = func(context.Context, Tool, model.ToolCall) (Approval, error) {
				time.Sleep(time.Minute) // on the fake clock of the bubble
				return Approval{Allowed: true}, nil
			}
			if use := b.one(); !use.Success || use.DurationMS > 1000 {
				t.Errorf("%+v", use)
			}
		})
	})
	t.Run("only tools that change things are asked about, as they will be executed", func(t *testing.T) {
		b := newToolBed(t, call("1", "look", `{}`), call("2", "write", `{"n":1}`))
		b.echo("look")
		b.echo("write").Changes = true
		b.answer("more", hook.ToolBefore, hook.Reply{Set: raw("arguments", `{"n":2}`)})
		var asked []string
		b.Approve = func(_ context.Context, tool Tool, c model.ToolCall) (Approval, error) {
			asked = append(asked, tool.Name+string(c.Arguments))
			return Approval{Allowed: true}, nil
		}
		result := b.run("hi")
		if !slices.Equal(asked, []string{`write{"n":2}`}) || !result.Tools[1].Success {
			t.Errorf("asked %q, %+v", asked, result.Tools)
		}
	})
	t.Run("the model gets the reason of a refusal", func(t *testing.T) {
		b := newToolBed(t, call("1", "write", `{}`))
		b.echo("write").Changes = true
		b.Approve = func(context.Context, Tool, model.ToolCall) (Approval, error) {
			return Approval{Reason: "use --yes"}, nil
		}
		if use := b.one(); use.Success || use.Result != "not allowed: use --yes" || use.ResolvedBy != nil {
			t.Errorf("%+v", use)
		}
	})
	t.Run("a question that could not be asked is a refusal", func(t *testing.T) {
		b := newToolBed(t, call("1", "write", `{}`))
		b.echo("write").Changes = true
		b.Approve = func(context.Context, Tool, model.ToolCall) (Approval, error) {
			return Approval{Allowed: true}, errors.New("no terminal")
		}
		if use := b.one(); use.Success || !strings.Contains(use.Result, "no terminal") {
			t.Errorf("%+v", use)
		}
	})
	t.Run("parallel calls ask at the same time, so that the user's screen knows all that wait", func(t *testing.T) {
		b := newToolBed(t, call("1", "write", `{}`), call("2", "write", `{}`))
		b.echo("write").Changes = true
		var both sync.WaitGroup
		both.Add(2)
		b.Approve = func(context.Context, Tool, model.ToolCall) (Approval, error) {
			both.Done()
			both.Wait()
			return Approval{Allowed: true}, nil
		}
		b.run("hi")
	})
}

func TestParallelTools(t *testing.T) {
	t.Run("several run at once, eight at most, and results are in the order of the calls", func(t *testing.T) {
		const n, atOnce = 20, 8
		var calls []model.ToolCall
		for i := range n {
			calls = append(calls, call(fmt.Sprint(i), "work", fmt.Sprintf(`{"n":%d}`, i)))
		}
		b := newToolBed(t, calls...)
		var running, most atomic.Int32
		full := make(chan struct{}) // closed when the limit is reached
		var once sync.Once
		b.tool("work", func(ctx context.Context, c Call) (ToolResult, error) {
			now := running.Add(1)
			most.Store(max(most.Load(), now))
			if now == atOnce {
				once.Do(func() { close(full) })
			}
			<-full
			runtime.Gosched() // give one more the chance to start
			running.Add(-1)
			return ToolResult{Output: c.ID, Success: true}, nil
		})
		result := b.run("hi")
		if most.Load() != atOnce {
			t.Errorf("%d at once, want %d", most.Load(), atOnce)
		}
		for i, use := range result.Tools {
			if m := b.log.Messages()[2+i]; use.Result != fmt.Sprint(i) || m.ToolCallID != fmt.Sprint(i) || m.Content != fmt.Sprint(i) {
				t.Errorf("result %d is %+v, kept as %+v", i, use, m)
			}
		}
	})
	t.Run("a result is stored as soon as the results before it are", func(t *testing.T) {
		b := newToolBed(t, call("1", "quick", `{}`), call("2", "slow", `{}`))
		b.says("quick", "here")
		kept := &signalLog{MemoryLog: b.log, want: "here", seen: make(chan struct{})}
		b.tool("slow", func(ctx context.Context, _ Call) (ToolResult, error) {
			select {
			case <-kept.seen:
				return ToolResult{Output: "too", Success: true}, nil
			case <-ctx.Done():
				return ToolResult{}, ctx.Err()
			}
		})
		turn := b.turn("hi")
		turn.Log = kept
		result, err := b.Run(t.Context(), turn)
		if err != nil || result.Tools[1].Result != "too" {
			t.Errorf("%+v, %v", result, err)
		}
	})
	t.Run("calls with the same id get different ids", func(t *testing.T) {
		b := newToolBed(t, call("1", "ls", `{}`), call("1", "ls", `{}`), call("", "ls", `{}`))
		b.echo("ls")
		result := b.run("hi")
		ids := map[string]bool{}
		for _, use := range result.Tools {
			ids[use.CallID] = true
		}
		if len(ids) != 3 || ids[""] {
			t.Errorf("ids %v", ids)
		}
	})
}

// A signalLog signals when it has stored a message.
type signalLog struct {
	*MemoryLog
	want string
	seen chan struct{}
}

func (l *signalLog) Append(ctx context.Context, messages ...model.Message) error {
	err := l.MemoryLog.Append(ctx, messages...)
	for _, m := range messages {
		if m.Content == l.want {
			close(l.seen)
		}
	}
	return err
}
