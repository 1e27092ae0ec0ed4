package model

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/model/modeltest"
	"github.com/patchbay-dev/patchbay/internal/pause"
)

func TestTextIsStreamedAndWhole(t *testing.T) {
	eachProvider(t, func(t *testing.T, f *fixture) {
		f.play(t, modeltest.Reply{Text: "one two three", Input: 12, Output: 3})
		resp, deltas := f.must(t, nil)
		equal(t, resp, &Response{Text: "one two three", Stop: StopEnd, Usage: Usage{Input: 12, Output: 3}})
		equal(t, deltas, []Delta{{Text: "one "}, {Text: "two "}, {Text: "three"}})
	})
}

func TestTheListenerMayBeNil(t *testing.T) {
	eachProvider(t, func(t *testing.T, f *fixture) {
		f.play(t, modeltest.Reply{Status: 500}, modeltest.Reply{Text: "hi", Tools: []modeltest.Tool{{ID: "a", Name: "b"}}})
		resp, err := f.model.Reply(t.Context(), asked("hello"), nil)
		if err != nil || resp.Text != "hi" {
			t.Errorf("got %+v, %v", resp, err)
		}
	})
}

// TestSeveralToolCalls: all calls of a reply are returned, with our names of the tools.
func TestSeveralToolCalls(t *testing.T) {
	eachProvider(t, func(t *testing.T, f *fixture) {
		f.play(t, modeltest.Reply{Text: "Looking.", Tools: []modeltest.Tool{
			{ID: "id_1", Name: "read_file", Arguments: `{"path": "a"}`},
			{ID: "id_2", Name: "git_log", Arguments: `{"n": 1}`},
			{ID: "id_3", Name: "made.up", Arguments: ``},
		}})
		resp, deltas := f.must(t, &Request{
			Messages: []Message{{Role: User, Content: "look"}},
			Tools:    []Tool{{Name: "git.log"}, {Name: "read_file"}},
		})
		equal(t, resp.ToolCalls, []ToolCall{
			call("id_1", "read_file", `{"path":"a"}`), call("id_2", "git.log", `{"n":1}`), call("id_3", "made.up", `{}`),
		})
		equal(t, resp.Stop, StopTools)
		equal(t, deltas, []Delta{{Text: "Looking."}, {ToolCall: "read_file"}, {ToolCall: "git.log"}, {ToolCall: "made.up"}})
	})
}

func TestArgumentsThatAreNotAnObjectAreMalformed(t *testing.T) {
	for _, arguments := range []string{`{"path": "a`, `["a"]`, `"a"`, `path=a`, `{} {}`} {
		eachProvider(t, func(t *testing.T, f *fixture) {
			f.play(t, modeltest.Reply{Tools: []modeltest.Tool{{ID: "x", Name: "t", Arguments: arguments}}})
			resp, _ := f.must(t, nil)
			equal(t, resp.ToolCalls, []ToolCall{{ID: "x", Name: "t", Arguments: emptyObject, Malformed: arguments}})
			if problem := resp.ToolCalls[0].Problem(); !strings.Contains(problem, arguments) {
				t.Errorf("the model is not told what it wrote: %q", problem)
			}
		})
	}
	if p := call("x", "t", `{}`).Problem(); p != "" {
		t.Errorf("a well-formed call has a problem: %q", p)
	}
}

func TestIDsAreUniqueInAConversation(t *testing.T) {
	eachProvider(t, func(t *testing.T, f *fixture) {
		f.play(t, modeltest.Reply{Tools: []modeltest.Tool{{ID: "", Name: "a"}, {ID: "call_1", Name: "b"}, {ID: "z", Name: "c"}}})
		resp, _ := f.must(t, &Request{Messages: []Message{
			{Role: User, Content: "go"},
			{Role: Assistant, ToolCalls: []ToolCall{call("call_1", "a", `{}`)}},
			{Role: ToolRole, ToolCallID: "call_1", Content: "done"},
		}})
		seen := map[string]bool{"call_1": true, "": true}
		for _, c := range resp.ToolCalls {
			if seen[c.ID] {
				t.Errorf("the id %q occurs twice", c.ID)
			}
			seen[c.ID] = true
		}
		equal(t, resp.ToolCalls[2].ID, "z")
	})
}

// TestStopReasons: each provider's word for the end of a reply becomes one of our reasons, and an
// unknown word becomes StopEnd.
func TestStopReasons(t *testing.T) {
	words := map[string]map[string]StopReason{
		ProviderAnthropic: {
			"end_turn": StopEnd, "stop_sequence": StopEnd, "max_tokens": StopLength, "refusal": StopRefusal,
			"model_context_window_exceeded": StopLength, "tool_use": StopEnd, "of the future": StopEnd,
		},
		ProviderOpenAI: {
			"stop": StopEnd, "length": StopLength, "content_filter": StopRefusal, "tool_calls": StopEnd, "of the future": StopEnd,
		},
	}
	eachProvider(t, func(t *testing.T, f *fixture) {
		for word, want := range words[f.provider] {
			f.play(t, modeltest.Reply{Text: "x", Stop: word})
			resp, _ := f.must(t, nil)
			if resp.Stop != want {
				t.Errorf("%s: got %s, want %s", word, resp.Stop, want)
			}
		}
	})
}

func TestAServerThatSaysStopAndCallsToolsWaitsForThem(t *testing.T) {
	f := &fixture{provider: ProviderOpenAI, serve: modeltest.OpenAI}
	f.play(t, modeltest.Reply{Stop: "stop", Tools: []modeltest.Tool{{ID: "a", Name: "t"}}})
	resp, _ := f.must(t, nil)
	equal(t, resp.Stop, StopTools)
}

func TestCallsWithOneNumberAreDistinguishedByID(t *testing.T) {
	f := &fixture{provider: ProviderOpenAI, serve: modeltest.OpenAI}
	chunk := func(id, name, arguments string) string {
		return `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"` + id + `","function":{"name":"` + name +
			`","arguments":"` + arguments + `"}}]}}]}` + "\n\n"
	}
	f.play(t, modeltest.Reply{Raw: chunk("a", "one", "{}") + chunk("b", "two", "{") + chunk("b", "two", "}") +
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n"})
	resp, _ := f.must(t, nil)
	equal(t, resp.ToolCalls, []ToolCall{call("a", "one", `{}`), call("b", "two", `{}`)})
}

func TestTextBlocksAreParagraphs(t *testing.T) {
	f := &fixture{provider: ProviderAnthropic, serve: modeltest.Anthropic}
	block := `event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"thinking_delta","thinking":"hm"}}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"two"}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}

event: message_stop
data: {"type":"message_stop"}

`
	f.play(t, modeltest.Reply{Text: "one", Raw: block})
	resp, deltas := f.must(t, nil)
	equal(t, resp.Text, "one\n\ntwo")
	equal(t, streamed(deltas), resp.Text)
}

func TestHangingStreamEndsWithItsContext(t *testing.T) {
	eachProvider(t, func(t *testing.T, f *fixture) {
		f.play(t, modeltest.Reply{Text: "half a", Hang: true})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := f.model.Reply(ctx, asked("hello"), func(Delta) { cancel() })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		equal(t, len(f.waits), 0)
	})
}

func TestAWaitBetweenTriesEndsWithItsContext(t *testing.T) {
	eachProvider(t, func(t *testing.T, f *fixture) {
		f.play(t, modeltest.Reply{Status: 500, Header: map[string]string{"Retry-After": "60"}})
		f.model.wait = pause.For // the real one
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := f.model.Reply(ctx, asked("hello"), func(Delta) { cancel() })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestSilenceIsAnError(t *testing.T) {
	eachProvider(t, func(t *testing.T, f *fixture) {
		f.server = f.serve(t, modeltest.Reply{Text: "half", Hang: true})
		f.open(t, Config{BaseURL: f.server.URL, Idle: 50 * time.Millisecond})
		if e := f.fails(t, nil); !errors.Is(e, ErrIdle) || e.Tries != 1 {
			t.Errorf("got %v after %d tries", e, e.Tries)
		}
	})
}

func TestSilenceAfterTheEndIsNotAnError(t *testing.T) {
	f := &fixture{provider: ProviderOpenAI, serve: modeltest.OpenAI}
	f.play(t, modeltest.Reply{Text: "all", Raw: `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"})
	resp, _ := f.must(t, nil)
	equal(t, resp.Text, "all")
}

// elsewhere starts a server that must not be reached.
func elsewhere(t *testing.T) string {
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the redirect was followed, with %v", r.Header)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	eachProvider(t, func(t *testing.T, f *fixture) {
		f.play(t, modeltest.Reply{Status: http.StatusTemporaryRedirect, Header: map[string]string{"Location": elsewhere(t)}})
		if e := f.fails(t, nil); e.Tries != 1 || !strings.Contains(e.Error(), "redirected to") {
			t.Errorf("got %v", e)
		}
	})
}

func TestAPageIsNoStream(t *testing.T) {
	eachProvider(t, func(t *testing.T, f *fixture) {
		f.play(t, modeltest.Reply{Status: http.StatusOK, Body: "<html>", Header: map[string]string{"Content-Type": "text/html; charset=utf-8"}})
		if e := f.fails(t, nil); e.Tries != 1 || !strings.Contains(e.Error(), `text/html rather than a stream: "<html>"`) {
			t.Errorf("got %v", e)
		}
	})
}

func TestTooManyCallsAreAnError(t *testing.T) {
	eachProvider(t, func(t *testing.T, f *fixture) {
		reply := modeltest.Reply{Tools: make([]modeltest.Tool, maxCalls+1)}
		for i := range reply.Tools {
			reply.Tools[i].Name = "t"
		}
		f.play(t, reply)
		if e := f.fails(t, nil); e.Tries != 1 || !strings.Contains(e.Error(), "too many tool calls") {
			t.Errorf("got %v", e)
		}
	})
}
