package chat

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
)

func message(role model.Role, content string) model.Message {
	return model.Message{Role: role, Content: content}
}

// talk returns a conversation of n exchanges, numbered from 1.
func talk(n int) []model.Message {
	var out []model.Message
	for i := range n {
		out = append(out, message(model.User, fmt.Sprint("q", i+1)), message(model.Assistant, fmt.Sprint("a", i+1)))
	}
	return out
}

// compactNow compacts as if the user had asked for it.
func (b *testBed) compactNow(strategy string) (*session.Compaction, error) {
	b.t.Helper()
	if err := b.bus.Set(b.hooks); err != nil {
		b.t.Fatal(err)
	}
	return b.CompactNow(b.t.Context(), b.turn(""), strategy)
}

func (b *testBed) compacted(strategy string) *session.Compaction {
	b.t.Helper()
	c, err := b.compactNow(strategy)
	if err != nil {
		b.t.Fatalf("compact: %v", err)
	}
	return c
}

// newTalk returns a testBed with a conversation of three exchanges.
func newTalk(t *testing.T, replies ...play) *testBed {
	b := newTestBed(t, replies...)
	b.log = NewMemoryLog(talk(3)...)
	return b
}

func TestStrategies(t *testing.T) {
	t.Run("drop: the oldest messages are removed, and a note says so", func(t *testing.T) {
		b := newTalk(t)
		b.Compact.Keep = 2
		c := b.compacted(StrategyDrop)
		want := "system: 4 earlier messages of this conversation were dropped to make room.\nuser: q3\nassistant: a3"
		if b.transcript() != want || c.Before != 6 || c.Trigger != "manual" || c.Strategy != StrategyDrop || c.By != "" {
			t.Errorf("transcript\n%s\nwant\n%s\n%+v", b.transcript(), want, c)
		}
		if len(b.player.requests) != 0 {
			t.Error("the model was asked")
		}
	})
	t.Run("summarize: the model summarizes the removed messages", func(t *testing.T) {
		b := newTalk(t, say("they counted"))
		b.Compact.Keep = 2
		b.compacted("")
		if want := "system: Summary of the conversation so far:\n\nthey counted\nuser: q3\nassistant: a3"; b.transcript() != want {
			t.Errorf("transcript\n%s\nwant\n%s", b.transcript(), want)
		}
		asked := b.player.requests[0]
		if text := asked.Messages[0].Content; asked.System != summaryOrder || !strings.Contains(text, "[user]\nq1") || strings.Contains(text, "q3") || asked.Tools != nil {
			t.Errorf("asked %+v", asked)
		}
		if len(b.of(TextDelta)) != 0 {
			t.Error("the summary was streamed as if it were a reply")
		}
	})
	t.Run("checkpoint: a fresh start from the user's last message", func(t *testing.T) {
		b := newTalk(t, say("## Goal\n- count"))
		b.compacted(StrategyCheckpoint)
		if want := "system: Checkpoint: where the work stands.\n\n## Goal\n- count\nuser: q3\nassistant: a3"; b.transcript() != want {
			t.Errorf("transcript\n%s\nwant\n%s", b.transcript(), want)
		}
		for _, section := range []string{"Goal", "Done", "Decisions", "Open", "Files"} {
			if !strings.Contains(b.player.requests[0].System, "## "+section) {
				t.Errorf("no section %s is asked for", section)
			}
		}
	})
	t.Run("if the model fails, the oldest messages are removed, and the event says so", func(t *testing.T) {
		for name, reply := range map[string]play{"an error": fail(errors.New("overloaded")), "an empty reply": say(" ")} {
			b := newTalk(t, reply)
			c := b.compacted(StrategySummarize)
			if told := b.of(Compacted); c.Strategy != StrategyDrop || len(told) != 1 || !strings.Contains(told[0].Text, "dropped instead") || told[0].Compaction.Strategy != StrategyDrop {
				t.Errorf("%s: %+v, told %+v", name, c, told)
			}
		}
	})
	t.Run("the offline model does not summarize", func(t *testing.T) {
		b := newTalk(t)
		b.Model = model.Offline(nil)
		if c := b.compacted(StrategySummarize); c.Strategy != StrategyDrop {
			t.Errorf("%+v", c)
		}
	})
	t.Run("delegate without a compactor: an error if the user asked, otherwise a summary", func(t *testing.T) {
		b := newTalk(t)
		before := b.transcript()
		if _, err := b.compactNow(StrategyDelegate); !errors.Is(err, errNoCompactor) || b.transcript() != before {
			t.Errorf("%v, transcript %q", err, b.transcript())
		}
		b = newLong(t, say("in short"))
		b.Compact.Strategy = StrategyDelegate
		b.run("go on")
		if c := b.log.Compactions(); len(c) != 1 || c[0].Strategy != StrategySummarize || !strings.Contains(b.of(Compacted)[0].Text, "no plugin") {
			t.Errorf("%+v", c)
		}
	})
	t.Run("an unknown strategy is an error that names the nearest", func(t *testing.T) {
		b := newTalk(t)
		if _, err := b.compactNow("sumarize"); err == nil || !strings.Contains(err.Error(), `"summarize"`) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("an empty transcript and one exchange cannot be compacted", func(t *testing.T) {
		for _, log := range []*MemoryLog{NewMemoryLog(), NewMemoryLog(talk(1)...)} {
			b := newTestBed(t)
			b.log = log
			if _, err := b.compactNow(StrategyDrop); !errors.Is(err, ErrNothingToCompact) {
				t.Errorf("error %v", err)
			}
		}
	})
}

func TestCompactorPlugins(t *testing.T) {
	t.Run("the payload has messages, strategy, trigger and session", func(t *testing.T) {
		b := newTalk(t)
		before := b.tap(hook.CompactBefore)
		b.hooks[0].Observer = true
		b.compacted(StrategyDrop)
		if before.field(0, "strategy") != `"drop"` || before.field(0, "trigger") != `"manual"` || before.field(0, "session_id") != `"ses_1"` ||
			!strings.HasPrefix(before.field(0, "messages"), `[{"role":"user","content":"q1"}`) {
			t.Errorf("told %s", before.seen[0].JSON())
		}
	})
	t.Run("a summary goes before the messages that stay", func(t *testing.T) {
		b := newTalk(t)
		b.Compact.Keep = 2
		b.answer("short", hook.CompactBefore, hook.Reply{Verdict: hook.Stop, Set: set("summary", "they counted")})
		c := b.compacted(StrategyDelegate)
		if want := "system: Summary of the conversation so far:\n\nthey counted\nuser: q3\nassistant: a3"; b.transcript() != want {
			t.Errorf("transcript\n%s\nwant\n%s", b.transcript(), want)
		}
		if c.By != "short" || c.Strategy != StrategyDelegate {
			t.Errorf("%+v", c)
		}
	})
	t.Run("messages replace all, and the user's last one is added", func(t *testing.T) {
		b := newTalk(t)
		b.answer("short", hook.CompactBefore, hook.Reply{Verdict: hook.Stop, Set: raw("messages", `[{"role":"assistant","content":["block"]}]`)})
		after := b.tap(hook.CompactAfter)
		b.compacted(StrategySummarize)
		if want := "assistant: [\"block\"]\nuser: q3"; b.transcript() != want {
			t.Errorf("transcript\n%s\nwant\n%s", b.transcript(), want)
		}
		if got := after.field(0, "messages_being_compacted"); strings.Contains(got, "q3") || !strings.Contains(got, "q1") {
			t.Errorf("compacted %s", got)
		}
	})
	t.Run("calls and results that do not fit together are repaired", func(t *testing.T) {
		b := newTalk(t)
		b.answer("clumsy", hook.CompactBefore, hook.Reply{Verdict: hook.Stop, Set: raw("messages", `[{"role":"tool","tool_call_id":"1","content":"lost"},{"role":"user","content":"q3"}]`)})
		if b.compacted(StrategySummarize); b.transcript() != "user: q3" {
			t.Errorf("transcript %q", b.transcript())
		}
	})
	t.Run("messages that are not valid are ignored", func(t *testing.T) {
		for _, messages := range []string{`[1]`, `[{"role":"robot","content":"x"}]`, `"text"`} {
			b := newTalk(t)
			b.answer("clumsy", hook.CompactBefore, hook.Reply{Verdict: hook.Stop, Set: raw("messages", messages)})
			if c := b.compacted(StrategyDrop); c.Strategy != StrategyDrop || c.By != "" {
				t.Errorf("%s: %+v", messages, c)
			}
		}
	})
	t.Run("a refusal leaves the transcript as it is", func(t *testing.T) {
		for _, point := range []hook.Point{hook.CompactBefore, hook.CompactAfter} {
			b := newTalk(t)
			before := b.transcript()
			h := b.plug("broken", point, func(context.Context, *hook.Event) (hook.Reply, error) { return hook.Reply{}, errors.New("boom") })
			h.OnFailure = hook.ActionDeny
			if _, err := b.compactNow(StrategyDrop); err == nil || b.transcript() != before {
				t.Errorf("%s: %v, transcript %q", point, err, b.transcript())
			}
		}
	})
	t.Run("retained and injected messages go between the summary and the messages that stay", func(t *testing.T) {
		b := newTalk(t)
		b.Compact.Keep = 2
		b.answer("keeper", hook.CompactAfter, hook.Reply{Set: append(set("inject", "mind the gap"),
			raw("retain", `[{"role":"user","content":"q1"},{"role":"user","content":"q3"},{"role":"tool","name":"ls","content":"a b"}]`)...)})
		after := b.tap(hook.CompactAfter)
		b.compacted(StrategyDrop)
		want := "system: 4 earlier messages of this conversation were dropped to make room.\n" +
			"user: q1\nsystem: Result of tool ls:\n\na b\nsystem: mind the gap\nuser: q3\nassistant: a3"
		if b.transcript() != want {
			t.Errorf("transcript\n%s\nwant\n%s", b.transcript(), want)
		}
		if after.field(0, "strategy") != `"drop"` || after.field(0, "trigger") != `"manual"` || !strings.Contains(after.field(0, "messages_remaining"), "q3") {
			t.Errorf("told %s", after.seen[0].JSON())
		}
	})
	t.Run("a retained message that cannot be read does not lose the others", func(t *testing.T) {
		b := newTalk(t)
		b.Compact.Keep = 2
		b.answer("keeper", hook.CompactAfter, hook.Reply{Set: raw("retain", `[{"role":"user","content":"q1"}]`)})
		b.answer("clumsy", hook.CompactAfter, hook.Reply{Set: raw("retain", `[5,{"role":"robot","content":"x"}]`)})
		b.compacted(StrategyDrop)
		if !strings.Contains(b.transcript(), "user: q1") || strings.Contains(b.transcript(), "x") {
			t.Errorf("transcript %q", b.transcript())
		}
	})
}

// newLong returns a testBed whose conversation fills the model's window.
func newLong(t *testing.T, replies ...play) *testBed {
	b := newTestBed(t, replies...)
	messages := talk(20)
	for i := range messages {
		messages[i].Content += strings.Repeat(" and so on", 40)
	}
	b.log = NewMemoryLog(messages...)
	b.player.window = 4000
	b.Prompt = "Base."
	b.Compact.Keep = 4
	return b
}

// TestEstimate: the estimate for a session is what its next model call has, prompt and tools
// included.
func TestEstimate(t *testing.T) {
	b := newTestBed(t, say("yes"))
	b.tools = []Tool{{Name: "look", Description: "Looks around.", Parameters: []byte(`{"type":"object"}`)}}
	b.Project = "Use tabs."
	b.run("anything there?")
	asked := b.player.requests[0]
	got := b.Estimate(b.turn("").Session, asked.Messages)
	if want := asked.Estimate(); got != want || got <= model.Estimate(asked.Messages) {
		t.Errorf("%d tokens, the call had %d, its messages %d", got, want, model.Estimate(asked.Messages))
	}
}

func TestAutomaticCompaction(t *testing.T) {
	t.Run("a conversation that grows too long is compacted before the model is asked", func(t *testing.T) {
		b := newLong(t, say("in short"), say("answer"))
		before := b.tap(hook.CompactBefore)
		b.hooks[0].Observer = true
		result := b.run("and now?")
		if result.Text != "answer" || before.field(0, "trigger") != `"auto"` || len(b.log.Compactions()) != 1 {
			t.Errorf("%+v, %d compactions", result, len(b.log.Compactions()))
		}
		asked := b.player.requests[1].Messages
		if asked[0].Content != "Summary of the conversation so far:\n\nin short" || asked[len(asked)-1].Content != "and now?" || len(asked) != 5 {
			t.Errorf("asked\n%s", lines(asked))
		}
		if model.Estimate(asked) > 2000 {
			t.Errorf("%d tokens are left", model.Estimate(asked))
		}
	})
	t.Run("a short conversation is not compacted", func(t *testing.T) {
		b := newTalk(t)
		if b.run("and now?"); len(b.log.Compactions()) != 0 {
			t.Errorf("%+v", b.log.Compactions())
		}
	})
	t.Run("the model's own count decides if it is higher", func(t *testing.T) {
		b := newTalk(t, func(context.Context, *model.Request, func(model.Delta)) (*model.Response, error) {
			return &model.Response{ToolCalls: []model.ToolCall{call("1", "look", `{}`)}, Usage: model.Usage{Input: 90_000}}, nil
		})
		b.says("look", "a tree")
		b.Compact = CompactOptions{Strategy: StrategyDrop, Keep: 2}
		if b.run("and now?"); len(b.log.Compactions()) != 1 {
			t.Errorf("%d compactions", len(b.log.Compactions()))
		}
	})
	t.Run("a checkpoint keeps everything since the user's message, so a single long turn is not compacted", func(t *testing.T) {
		look := func(used int) play {
			return func(context.Context, *model.Request, func(model.Delta)) (*model.Response, error) {
				return &model.Response{ToolCalls: []model.ToolCall{call("1", "look", `{}`)}, Usage: model.Usage{Input: used}}, nil
			}
		}
		b := newTestBed(t, look(10), look(90_000), say("answer"))
		b.says("look", "a tree")
		b.Compact = CompactOptions{Strategy: StrategyCheckpoint, Keep: 1}
		if result := b.run("and now?"); result.Text != "answer" || len(b.log.Compactions()) != 0 {
			t.Errorf("%+v, %d compactions", result, len(b.log.Compactions()))
		}
	})
	t.Run("a conversation that the model finds too long is compacted once and sent again", func(t *testing.T) {
		tooLong := fail(fmt.Errorf("400: %w", model.ErrTooLong))
		b := newTalk(t, tooLong, say("answer"))
		b.Compact.Strategy = StrategyDrop
		if result := b.run("and now?"); result.Text != "answer" || len(b.log.Compactions()) != 1 || !strings.Contains(b.transcript(), "user: and now?") {
			t.Errorf("%+v, transcript %q", result, b.transcript())
		}
		b = newTalk(t, tooLong, tooLong, say("never"))
		b.Compact.Strategy = StrategyDrop
		if _, err := b.try(t.Context(), "and now?"); !errors.Is(err, model.ErrTooLong) || len(b.log.Compactions()) != 1 {
			t.Errorf("%v, %d compactions", err, len(b.log.Compactions()))
		}
	})
	t.Run("one message that is too long by itself is an error, not a loop", func(t *testing.T) {
		b := newTestBed(t, fail(model.ErrTooLong), say("never"))
		if _, err := b.try(t.Context(), strings.Repeat("x", 1000)); !errors.Is(err, model.ErrTooLong) || len(b.player.requests) != 1 {
			t.Errorf("%v after %d requests", err, len(b.player.requests))
		}
	})
	t.Run("a refusal does not end the turn", func(t *testing.T) {
		b := newLong(t, say("answer"))
		h := b.plug("broken", hook.CompactBefore, func(context.Context, *hook.Event) (hook.Reply, error) { return hook.Reply{}, errors.New("boom") })
		h.OnFailure = hook.ActionDeny
		if result := b.run("and now?"); result.Text != "answer" || len(b.log.Compactions()) != 0 {
			t.Errorf("%+v", result)
		}
	})
	t.Run("a script continues after the removed replies", func(t *testing.T) {
		b := newLong(t)
		b.log = NewMemoryLog()
		b.Model = model.Offline(model.Script{{Text: "one"}, {Text: "two"}, {Text: "three"}, {Text: "four"}})
		for i, want := range []string{"one", "two", "three", "four"} {
			if got := b.run("next").Text; got != want {
				t.Errorf("%q, want %q", got, want)
			}
			if i > 0 {
				b.compacted(StrategyDrop)
			}
		}
	})
}

func TestSplit(t *testing.T) {
	round := func(id, output string) []model.Message {
		return []model.Message{{Role: model.Assistant, ToolCalls: []model.ToolCall{call(id, "ls", `{}`)}},
			{Role: model.ToolRole, ToolCallID: id, Content: output}}
	}
	join := func(parts ...[]model.Message) (out []model.Message) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	user := func(text string) []model.Message { return []model.Message{message(model.User, text)} }
	long := strings.Repeat("x", 4000)
	for _, c := range []struct {
		rule         string
		all          []model.Message
		keep, budget int
		gone, kept   string
	}{
		{"the last messages stay", talk(2), 2, 0, "user: q1\nassistant: a1", "user: q2\nassistant: a2"},
		{"all stay if there are few", talk(1), 5, 0, "", "user: q1\nassistant: a1"},
		{"a result stays with its call", join(user("q1"), user("q2"), round("1", "one")), 1, 0,
			"user: q1", "user: q2\nassistant:  ls{}\ntool: one"},
		{"the user's last message stays, also before many rounds", join(user("q1"), round("1", "one"), round("2", "two")), 2, 0,
			"assistant:  ls{}\ntool: one", "user: q1\nassistant:  ls{}\ntool: two"},
		{"fewer stay if they are too long", join(user("q1"), user("q2"), round("1", long), round("2", "two")), 10, 100,
			"user: q1\nassistant:  ls{}\ntool: " + long, "user: q2\nassistant:  ls{}\ntool: two"},
		{"the last round stays, however long", join(user("q1"), round("1", "one"), round("2", long)), 10, 100,
			"assistant:  ls{}\ntool: one", "user: q1\nassistant:  ls{}\ntool: " + long},
		{"without a user's message the tail stays", round("1", "one"), 1, 0, "", "assistant:  ls{}\ntool: one"},
		{"an empty transcript", nil, 3, 0, "", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			gone, kept := split(c.all, c.keep, c.budget)
			if lines(gone) != c.gone || lines(kept) != c.kept {
				t.Errorf("gone\n%.300s\nkept\n%.300s", lines(gone), lines(kept))
			}
		})
	}
}

func TestRepairToolCalls(t *testing.T) {
	calls := func(ids ...string) model.Message {
		m := message(model.Assistant, "")
		for _, id := range ids {
			m.ToolCalls = append(m.ToolCalls, call(id, "ls", `{}`))
		}
		return m
	}
	result := func(id string) model.Message { return model.Message{Role: model.ToolRole, ToolCallID: id, Content: id} }
	for _, c := range []struct {
		rule string
		in   []model.Message
		want string
	}{
		{"a complete round stays", []model.Message{calls("1", "2"), result("2"), result("1")}, "assistant:  ls{} ls{}\ntool: 2\ntool: 1"},
		{"a result without its call is removed", []model.Message{message(model.User, "q"), result("1")}, "user: q"},
		{"a second result is removed", []model.Message{calls("1"), result("1"), result("1")}, "assistant:  ls{}\ntool: 1"},
		{"a call without its result gets one", []model.Message{calls("1", "2"), result("1"), message(model.User, "q")},
			"assistant:  ls{} ls{}\ntool: 1\ntool: the result is no longer there (failed)\nuser: q"},
		{"a call without its result at the end gets one", []model.Message{calls("1")}, "assistant:  ls{}\ntool: the result is no longer there (failed)"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := lines(repairToolCalls(c.in)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
