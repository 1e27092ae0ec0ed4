package chat

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/adapter"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// newToolBed returns a testBed whose model calls tools once and then ends the turn.
func newToolBed(t *testing.T, calls ...model.ToolCall) *testBed {
	return newTestBed(t, say("", calls...))
}

// one returns the use of the only tool call.
func (b *testBed) one() ToolUse {
	b.t.Helper()
	result := b.run("hi")
	if len(result.Tools) != 1 {
		b.t.Fatalf("tools %+v", result.Tools)
	}
	return result.Tools[0]
}

// echo adds a tool that returns how it was called.
func (b *testBed) echo(name string) *Tool {
	return b.tool(name, func(_ context.Context, c Call) (ToolResult, error) {
		return ToolResult{Output: name + string(c.Arguments), Success: true}, nil
	})
}

func TestToolBefore(t *testing.T) {
	t.Run("changed arguments and a changed tool are executed", func(t *testing.T) {
		b := newToolBed(t, call("1", "rm", `{"path":"/"}`))
		b.echo("rm")
		b.echo("ls")
		b.answer("soften", hook.ToolBefore, hook.Reply{Set: append(set("tool", "ls"), raw("arguments", `{"path":"."}`)...)})
		resolve, after := b.tap(hook.ToolResolve), b.tap(hook.ToolAfter)
		use := b.one()
		for _, tap := range []*payloads{resolve, after} {
			if tap.field(0, "tool") != `"ls"` || tap.field(0, "arguments") != `{"path":"."}` {
				t.Errorf("later points saw %s", tap.seen[0].JSON())
			}
		}
		if use.Result != `ls{"path":"."}` || use.Name != "ls" || string(use.Arguments) != `{"path":"."}` || use.ResolvedBy != nil {
			t.Errorf("%+v", use)
		}
	})
	t.Run("stop answers in the tool's place, and nothing comes after it", func(t *testing.T) {
		b := newToolBed(t, call("1", "rm", `{}`))
		b.echo("rm")
		b.answer("guard", hook.ToolBefore, hook.Reply{Verdict: hook.Stop, Set: append(set("result", `{"blocked":"no"}`), raw("success", "false")...)})
		use := b.one()
		if use.Result != `{"blocked":"no"}` || use.Success || use.ResolvedBy == nil || *use.ResolvedBy != "guard" {
			t.Errorf("%+v", use)
		}
		if slices.Contains(b.fired, string(hook.ToolResolve)) || slices.Contains(b.fired, string(hook.ToolAfter)) {
			t.Errorf("fired %q", b.fired)
		}
	})
	t.Run("stop without a result is a refusal", func(t *testing.T) {
		b := newToolBed(t, call("1", "rm", `{}`))
		b.echo("rm")
		b.answer("guard", hook.ToolBefore, hook.Reply{Verdict: hook.Stop})
		if use := b.one(); use.Success || !strings.Contains(use.Result, "guard") || *use.ResolvedBy != "guard" {
			t.Errorf("%+v", use)
		}
	})
	t.Run("the model gets the reason of a refusal, and the turn goes on", func(t *testing.T) {
		b := newToolBed(t, call("1", "rm", `{}`))
		b.echo("rm")
		b.answer("guard", hook.ToolBefore, hook.Reply{Verdict: hook.Deny, Reason: "not here"})
		result := b.run("hi")
		if result.Text != "done" || !strings.Contains(b.transcript(), "tool: refused by plugin guard: not here (failed)") {
			t.Errorf("%+v, transcript %q", result, b.transcript())
		}
	})
	t.Run("a plugin cannot change the call's id", func(t *testing.T) {
		b := newToolBed(t, call("1", "ls", `{}`))
		b.echo("ls")
		b.answer("renumber", hook.ToolBefore, hook.Reply{Set: set("call_id", "other")})
		if use := b.one(); use.CallID != "1" || b.log.Messages()[2].ToolCallID != "1" {
			t.Errorf("%+v, transcript %+v", use, b.log.Messages())
		}
	})
	t.Run("the tool is not run if a plugin changed its arguments to a value that is not an object", func(t *testing.T) {
		b := newToolBed(t, call("1", "ls", `{}`))
		b.echo("ls")
		b.answer("clumsy", hook.ToolBefore, hook.Reply{Set: raw("arguments", `[1]`)})
		if use := b.one(); use.Success || !strings.Contains(use.Result, "must be one JSON object") {
			t.Errorf("%+v", use)
		}
	})
	t.Run("a failure that aborts ends the turn, and every call has a result", func(t *testing.T) {
		b := newToolBed(t, call("1", "rm", `{}`), call("2", "wait", `{}`))
		started := make(chan struct{})
		b.tool("wait", func(ctx context.Context, _ Call) (ToolResult, error) {
			close(started)
			<-ctx.Done()
			return ToolResult{}, ctx.Err()
		})
		h := b.plug("broken", hook.ToolBefore, func(context.Context, *hook.Event) (hook.Reply, error) {
			<-started
			return hook.Reply{}, errors.New("boom")
		})
		h.OnFailure = hook.ActionAbort
		h.Match = func(ev *hook.Event) bool { return string(ev.Payload.Get("tool")) == `"rm"` }
		result, err := b.try(t.Context(), "hi")
		if e, ok := errors.AsType[*hook.Error](err); !ok || e.Plugin != "broken" || result.Status != session.Failed {
			t.Errorf("%+v, %v", result, err)
		}
		if got := b.transcript(); !strings.HasSuffix(got, "boom (failed)\ntool: interrupted (failed)") {
			t.Errorf("transcript %q", got)
		}
	})
}

func TestToolResolve(t *testing.T) {
	t.Run("an answer is the result, and tool.after sees it", func(t *testing.T) {
		b := newToolBed(t, call("1", "shell", `{"cmd":"ls"}`))
		b.echo("shell")
		b.answer("mock", hook.ToolResolve, hook.Reply{Verdict: hook.Stop, Set: append(set("result", "mocked"), raw("success", "true")...)})
		after := b.tap(hook.ToolAfter)
		use := b.one()
		if use.Result != "mocked" || !use.Success || *use.ResolvedBy != "mock" || after.field(0, "result") != `"mocked"` {
			t.Errorf("%+v, after saw %s", use, after.field(0, "result"))
		}
	})
	t.Run("a plugin can run a tool that the host does not have", func(t *testing.T) {
		b := newToolBed(t, call("1", "nosuch", `{}`))
		b.answer("mock", hook.ToolResolve, hook.Reply{Verdict: hook.Stop, Set: set("result", "here")})
		if use := b.one(); use.Result != "here" || !use.Success {
			t.Errorf("%+v", use)
		}
	})
	t.Run("a refusal is the result, and tool.after is not fired", func(t *testing.T) {
		b := newToolBed(t, call("1", "shell", `{}`))
		b.echo("shell")
		h := b.plug("broken", hook.ToolResolve, func(context.Context, *hook.Event) (hook.Reply, error) { return hook.Reply{}, errors.New("boom") })
		h.OnFailure = hook.ActionDeny
		if use := b.one(); use.Success || !strings.Contains(use.Result, "boom") || *use.ResolvedBy != "broken" || slices.Contains(b.fired, string(hook.ToolAfter)) {
			t.Errorf("%+v, fired %q", use, b.fired)
		}
	})
	t.Run("a call that a plugin answered needs no approval", func(t *testing.T) {
		b := newToolBed(t, call("1", "shell", `{}`))
		b.echo("shell").Changes = true
		b.Approve = func(context.Context, Tool, model.ToolCall) (Approval, error) {
			t.Error("asked")
			return Approval{}, nil
		}
		b.answer("mock", hook.ToolResolve, hook.Reply{Verdict: hook.Stop, Set: set("result", "mocked")})
		b.one()
	})
}

func TestToolAfter(t *testing.T) {
	t.Run("the payload has an object, a text, the success and no error", func(t *testing.T) {
		b := newToolBed(t, call("7", "ls", `{"path":"."}`))
		b.says("ls", "a b")
		after := b.tap(hook.ToolAfter)
		b.one()
		for field, want := range map[string]string{"tool": `"ls"`, "call_id": `"7"`, "arguments": `{"path":"."}`, "result": `"a b"`, "success": "true", "error": "null"} {
			if got := after.field(0, field); got != want {
				t.Errorf("%s is %s, want %s", field, got, want)
			}
		}
	})
	t.Run("result, success and error may be changed", func(t *testing.T) {
		b := newToolBed(t, call("1", "ls", `{}`))
		b.says("ls", "a b")
		b.answer("strict", hook.ToolAfter, hook.Reply{Set: append(set("result", "c", "error", "too short"), raw("success", "false")...)})
		use := b.one()
		if use.Result != "c\n\nerror: too short" || use.Success || use.Error != "too short" || use.ResolvedBy != nil {
			t.Errorf("%+v", use)
		}
	})
	t.Run("a refused result is withheld", func(t *testing.T) {
		b := newToolBed(t, call("1", "ls", `{}`))
		b.says("ls", "password")
		b.answer("censor", hook.ToolAfter, hook.Reply{Verdict: hook.Deny, Reason: "secret"})
		if use := b.one(); use.Success || strings.Contains(b.transcript(), "password") || !strings.Contains(use.Result, "secret") {
			t.Errorf("%+v, transcript %q", use, b.transcript())
		}
	})
	t.Run("the payload has the error of a tool that failed", func(t *testing.T) {
		b := newToolBed(t, call("1", "ls", `{}`))
		b.tool("ls", func(context.Context, Call) (ToolResult, error) { return ToolResult{Error: "no such file"}, nil })
		after := b.tap(hook.ToolAfter)
		use := b.one()
		if after.field(0, "error") != `"no such file"` || after.field(0, "result") != `"no such file"` || use.Result != "no such file" {
			t.Errorf("%+v, after saw %s", use, after.seen[0].JSON())
		}
	})
	t.Run("what a plugin removes from the text of a failed tool does not come back as its error", func(t *testing.T) {
		b := newToolBed(t, call("1", "ls", `{}`))
		b.tool("ls", func(context.Context, Call) (ToolResult, error) {
			return ToolResult{Output: "ls: no password in /srv\n", Error: "no password in /srv"}, nil
		})
		b.answer("censor", hook.ToolAfter, hook.Reply{Set: set("result", "no (hidden)")})
		if use := b.one(); use.Result != "no (hidden)" || use.Error != "no (hidden)" || use.Success {
			t.Errorf("%+v", use)
		}
	})
}

func TestExecute(t *testing.T) {
	t.Run("an unknown tool: the model is told the nearest name", func(t *testing.T) {
		b := newToolBed(t, call("1", "read_fiel", `{}`))
		b.echo("read_file")
		if use := b.one(); use.Success || !strings.Contains(use.Result, `did you mean "read_file"?`) {
			t.Errorf("%+v", use)
		}
		if slices.Contains(b.fired, string(hook.ToolAfter)) {
			t.Error("tool.after fired for a tool that did not run")
		}
	})
	t.Run("arguments that are not an object: the model is told, and the transcript has an object", func(t *testing.T) {
		for _, arguments := range []string{`not json`, `[1]`, `"text"`, `{"half":`} {
			b := newToolBed(t, call("1", "ls", arguments))
			b.echo("ls")
			if use := b.one(); use.Success || !strings.Contains(use.Result, "must be one JSON object") {
				t.Errorf("%s: %+v", arguments, use)
			}
			var o map[string]any
			if err := json.Unmarshal(b.log.Messages()[1].ToolCalls[0].Arguments, &o); err != nil {
				t.Errorf("%s: transcript: %v", arguments, err)
			}
		}
	})
	t.Run("no arguments are an empty object", func(t *testing.T) {
		for _, arguments := range []string{``, `null`, `""`, ` {} `} {
			b := newToolBed(t, call("1", "ls", arguments))
			b.echo("ls")
			if use := b.one(); use.Result != "ls{}" {
				t.Errorf("%q: %+v", arguments, use)
			}
		}
	})
	t.Run("missing and wrong arguments: the model is told which", func(t *testing.T) {
		b := newToolBed(t, call("1", "read", `{"limit":"ten"}`))
		b.echo("read").Parameters = json.RawMessage(`{"type":"object","required":["path"],"properties":{"path":{"type":"string"},"limit":{"type":"integer"}}}`)
		if use := b.one(); use.Success || !strings.Contains(use.Result, "path") || !strings.Contains(use.Result, "limit") {
			t.Errorf("%+v", use)
		}
	})
	t.Run("an invalid schema is ignored", func(t *testing.T) {
		b := newToolBed(t, call("1", "read", `{"a":1}`))
		b.echo("read").Parameters = json.RawMessage(`{"type":"objekt"}`)
		if use := b.one(); !use.Success {
			t.Errorf("%+v", use)
		}
	})
	t.Run("a tool that could not run is a failed result", func(t *testing.T) {
		b := newToolBed(t, call("1", "ls", `{}`))
		b.tool("ls", func(context.Context, Call) (ToolResult, error) { return ToolResult{}, errors.New("plugin is gone") })
		if use := b.one(); use.Success || use.Result != "plugin is gone" || use.Error != "plugin is gone" {
			t.Errorf("%+v", use)
		}
	})
	t.Run("a tool that panics is a failed result", func(t *testing.T) {
		b := newToolBed(t, call("1", "ls", `{}`))
		b.tool("ls", func(context.Context, Call) (ToolResult, error) { panic("at the disco") })
		if use := b.one(); use.Success || !strings.Contains(use.Result, "crashed") {
			t.Errorf("%+v", use)
		}
	})
	t.Run("output that is too long is cut in the middle", func(t *testing.T) {
		b := newToolBed(t, call("1", "ls", `{}`))
		b.says("ls", "begin"+strings.Repeat("é", adapter.MaxOutput)+"end")
		use := b.one()
		if len(use.Result) > adapter.MaxOutput+100 || !strings.HasPrefix(use.Result, "begin") || !strings.HasSuffix(use.Result, "end") ||
			!strings.Contains(use.Result, "bytes left out") || !utf8.ValidString(use.Result) {
			t.Errorf("%d bytes: %.50q", len(use.Result), use.Result)
		}
	})
	t.Run("the tools are listed again before each model call", func(t *testing.T) {
		b := newToolBed(t, call("1", "grow", `{}`))
		b.tool("grow", func(context.Context, Call) (ToolResult, error) {
			b.says("new", "")
			return ToolResult{Success: true}, nil
		})
		b.run("hi")
		if first, second := b.player.requests[0].Tools, b.player.requests[1].Tools; len(first) != 1 || len(second) != 2 || second[1].Name != "new" {
			t.Errorf("offered %+v, then %+v", first, second)
		}
	})
	t.Run("output after the turn is dropped", func(t *testing.T) {
		b := newToolBed(t, call("1", "ls", `{}`))
		var progress func(string)
		b.tool("ls", func(_ context.Context, c Call) (ToolResult, error) {
			progress = c.Progress
			return ToolResult{Success: true}, nil
		})
		b.one()
		before := len(b.events)
		progress("too late")
		if len(b.events) != before {
			t.Errorf("heard %+v", b.events[before:])
		}
	})
}
