package plugin_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
	"github.com/patchbay-dev/patchbay/sdk/go/plugintest"
)

func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func wantHas(t *testing.T, what, got, part string) {
	t.Helper()
	if !strings.Contains(got, part) {
		t.Errorf("%s: %q is not in %q", what, part, got)
	}
}

func do(what string) plugin.ToolEvent {
	return plugin.ToolEvent{Tool: "x", Arguments: json.RawMessage(`{"do":"` + what + `"}`)}
}

func TestScaffold(t *testing.T) {
	h := plugintest.New(t, newWhole().plugin, plugin.Scaffold, plugintest.Options{})
	before := func(what string) plugintest.Outcome[plugin.ToolEvent] {
		return plugintest.Fire(h, plugin.ToolBefore, do(what))
	}
	t.Run("tool.before", func(t *testing.T) {
		deny := before("deny")
		want(t, "deny", deny.Verdict+deny.Reason+deny.Suggest, "denynoask")
		want(t, "answer", before("answer").Answer, `{"a":1}`)
		modify := before("modify")
		want(t, "modify", modify.Verdict+string(modify.Event.Arguments), `modify{"done":true}`)
		want(t, "no opinion", before("").Verdict, "continue")
	})
	t.Run("a verdict that cannot be returned is an error", func(t *testing.T) {
		wantHas(t, "skip", before("skip").Reason, "skip cannot be returned at tool.before: return one of NoOpinion, Continue, Fail, Modify")
	})
	t.Run("a panic is an error, and its place is logged", func(t *testing.T) {
		want(t, "panic", before("panic").Reason, "panic in tool.before: broken")
		wantHas(t, "log", h.Log(), "whole_test.go")
	})
	t.Run("the other points", func(t *testing.T) {
		want(t, "resolve", plugintest.Fire(h, plugin.ToolResolve, plugin.ToolEvent{Tool: "weather"}).Answer, "sunny")
		want(t, "after", plugintest.Fire(h, plugin.ToolAfter, plugin.ToolEvent{Tool: "x", Result: "r"}).Event.Result, "r/false")
		want(t, "context", plugintest.Fire(h, plugin.PromptContext, plugin.ContextEvent{DynamicContext: "a"}).Event.DynamicContext, "a\n\nmore")
		send := plugintest.Fire(h, plugin.PromptSend, plugin.PromptEvent{BasePrompt: "a", DynamicContext: "b"}).Event
		want(t, "send", send.BasePrompt+send.DynamicContext, "a1b2")
		reply := plugin.ReplyEvent{Text: "a", ToolCalls: []plugin.ToolCall{{Name: "x", Arguments: json.RawMessage("{}")}}}
		want(t, "reply", plugintest.Fire(h, plugin.ModelReply, reply).Event.Text, "a+1")
		want(t, "final", plugintest.Fire(h, plugin.TurnFinal, plugin.FinalEvent{Text: "a"}).Event.Text, "a+0.")
	})
	t.Run("turn.input", func(t *testing.T) {
		for message, verdict := range map[string]string{"drop": "skip", "deny": "skip", "stop": "stop", "hi": "modify"} {
			want(t, message, plugintest.Fire(h, plugin.TurnInput, plugin.InputEvent{Message: message}).Verdict, verdict)
		}
		want(t, "odd characters", plugintest.Fire(h, plugin.TurnInput, plugin.InputEvent{Message: "é\"\\\n\x01<二>"}).Event.Message, "É\"\\\n\x01<二>")
		wantHas(t, "the reason of a refusal is logged", h.Log(), "reason=rude")
	})
}

func TestKaged(t *testing.T) {
	w := newWhole()
	h := plugintest.New(t, w.plugin, plugin.Kaged, plugintest.Options{Config: map[string]any{"limit": 5}, Secrets: map[string]any{"token": "t"}})
	want(t, "session.start", plugintest.Fire(h, plugin.SessionStart, plugin.SessionEvent{}).Event.Inject, "hello test")
	plugintest.Fire(h, plugin.SessionIdle, plugin.IdleEvent{Transcript: []plugin.Message{{Role: "user", Content: "c"}}})
	want(t, "session.idle", strings.Join(w.seen, ","), "c")
	want(t, "compact.before", plugintest.Fire(h, plugin.CompactBefore, plugin.CompactEvent{Messages: make([]plugin.Message, 2)}).Event.Summary, "2 messages")
	var compacted plugin.CompactedEvent
	if err := json.Unmarshal([]byte(`{"messages_being_compacted":[{"role":"user","content":"a","name":"n"}]}`), &compacted); err != nil {
		t.Fatal(err)
	}
	wantHas(t, "compact.after keeps fields it does not know", plugintest.Fire(h, plugin.CompactAfter, compacted).Received, `"name":"n"`)
	who, err := h.Method("whole.who", map[string]any{"_context": map[string]string{"session_id": "s1"}})
	want(t, "method", string(who), `{"session":"s1","token":"t"}`)
	want(t, "its error", err, nil)
	result, err := h.Tool("count", countIn{Text: "a b"})
	wantHas(t, "tool", result, `"limit":5`)
	want(t, "its error", err, nil)
	told := h.Notifications()
	want(t, "notifications", len(told), 1)
	want(t, "notification", told[0].Method+string(told[0].Params), `whole.counted{"total":2}`)
	want(t, "health", h.Health(), nil)
}

func TestMine(t *testing.T) {
	w := newWhole()
	h := plugintest.New(t, w.plugin, plugin.Mine, plugintest.Options{})
	before := func(command string, args ...string) plugintest.Outcome[plugin.CommandEvent] {
		return plugintest.Fire(h, plugin.CommandBefore, plugin.CommandEvent{Command: command, Args: args})
	}
	want(t, "modify", before("git").Event.Flags["tags"], "x")
	want(t, "another command", before("ls").Verdict, "continue")
	deny := before("git", "--force")
	want(t, "deny", deny.Verdict+": "+deny.Reason, "deny: no force; pull first")
	broken := before("git", "--panic")
	want(t, "panic", broken.Verdict+": "+broken.Reason, "fail: panic in command.before: no disk")
	var said struct{ Log []string }
	if err := json.Unmarshal([]byte(broken.Received), &said); err != nil || len(said.Log) < 2 {
		t.Errorf("stderr is more than an error object: %q", broken.Received)
	}
	after := plugintest.Fire(h, plugin.CommandAfter, plugin.CommandEvent{Command: "git", Result: json.RawMessage(`{"stdout":"a\n","exit_code":0}`)})
	want(t, "after", string(after.Event.Result), `{"stdout":"a!","exit_code":0}`)
	want(t, "a text", string(plugintest.Fire(h, plugin.CommandAfter, plugin.CommandEvent{Result: json.RawMessage(`"b"`)}).Event.Result), `"b!"`)
	want(t, "done", plugintest.Fire(h, plugin.CommandDone, plugin.CommandEvent{Command: "git"}).Received, "")
	want(t, "done was seen", strings.Join(w.seen, ","), "git")
	want(t, "health", h.Health(), nil)
	want(t, "command", h.Command("greet", "you").Stdout, "hello you\n")
	want(t, "its stdin", h.CommandWith("in", "greet").Stdout, "hello in\n")
	want(t, "its error", h.Command("greet", "none").Error, "no one is there")
	wantHas(t, "another command", h.Command("x").Error, `no command "x"; there are greet`)
}

func TestDotagent(t *testing.T) {
	w := newWhole()
	h := plugintest.New(t, w.plugin, plugin.Dotagent, plugintest.Options{Config: map[string]any{"limit": 4}})
	deny := plugintest.Fire(h, plugin.JobPreflight, plugin.JobEvent{Agent: "late"})
	want(t, "deny", deny.Verdict+deny.Reason+deny.Suggest, "denynot nowlater")
	want(t, "continue", plugintest.Fire(h, plugin.JobPreflight, plugin.JobEvent{Agent: "a"}).Verdict, "continue")
	want(t, "sink", plugintest.Fire(h, plugin.JobSink, plugin.JobEvent{Message: "m"}).Verdict, "continue")
	want(t, "sink's config", strings.Join(w.seen, ","), "m/4")
	notify := plugintest.Fire(h, plugin.JobNotify, plugin.JobEvent{})
	want(t, "fail", notify.Verdict+": "+notify.Reason, "fail: no network")
	want(t, "validate", h.Validate(map[string]any{"limit": 9}), nil)
	err := h.Validate(map[string]any{"limit": 10, "mode": "odd", "x": 1})
	want(t, "every fault", err.Error(), "limit: must be at most 9; mode: must be one of fast, slow; x: is not known; there are limit, mode")
}

func TestToolsInEveryDialect(t *testing.T) {
	plugintest.Each(t, func() *plugin.Plugin { return newWhole().plugin }, func(t *testing.T, h *plugintest.Host) {
		if slices.Contains([]plugin.Dialect{plugin.Dotagent, plugin.Mine}, h.Dialect) {
			return // they have no tools
		}
		result, err := h.Tool("count", countIn{Text: "a b c", Times: 2})
		want(t, "result", result, `{"words":6,"total":6,"limit":3,"dialect":"`+string(h.Dialect)+`"}`)
		want(t, "error", err, nil)
		for _, c := range []struct {
			what, tool string
			args       any
			err        string
		}{
			{"a failure", "fail", failIn{"plainly"}, "it is stuck"},
			{"a panic", "fail", failIn{"oddly"}, "panic in fail: oddly"},
			{"an argument is missing", "count", nil, "text: is required"},
			{"arguments of other types", "count", map[string]any{"text": 1}, "text: must be a string, got number"},
		} {
			if _, err := h.Tool(c.tool, c.args); err == nil || err.Error() != c.err {
				t.Errorf("%s: got %v, want %s", c.what, err, c.err)
			}
		}
		if _, err := h.Tool("absent", nil); err == nil {
			t.Error("a tool that is not there")
		}
	})
}
