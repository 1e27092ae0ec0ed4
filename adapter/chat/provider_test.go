package chat

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/model/modeltest"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// providers are servers on loopback that speak the real formats.
var providers = map[string]func(testing.TB, ...modeltest.Reply) *modeltest.Server{
	model.ProviderAnthropic: modeltest.Anthropic,
	model.ProviderOpenAI:    modeltest.OpenAI,
}

// eachProvider runs a test with both formats.
func eachProvider(t *testing.T, rule string, check func(t *testing.T, b *testBed, srv *modeltest.Server)) {
	for name, start := range providers {
		t.Run(rule+"/"+name, func(t *testing.T) {
			srv := start(t)
			m, err := model.Open(model.Config{Provider: name, Name: "test", BaseURL: srv.URL,
				Getenv: func(string) string { return "" },
				Lookup: func(string) (config.Secret, bool) { return config.NewSecret("key-of-the-test"), true }})
			if err != nil {
				t.Fatal(err)
			}
			b := newTestBed(t)
			b.Model = m
			check(t, b, srv)
		})
	}
}

// last returns the last request to a server as text. The formats differ, but the tested parts are
// the same in both.
func last(srv *modeltest.Server) string { return string(srv.Last().Body) }

func TestProviders(t *testing.T) {
	eachProvider(t, "a turn with several tools in one reply", func(t *testing.T, b *testBed, srv *modeltest.Server) {
		srv.Add(modeltest.Reply{Text: "let me look", Input: 10, Output: 5, Tools: []modeltest.Tool{
			{ID: "c1", Name: "read", Arguments: `{"path":"a"}`}, {ID: "c2", Name: "notes_search", Arguments: `{"path":"b"}`}}},
			modeltest.Reply{Text: "both are there", Input: 20, Output: 3})
		b.echo("read")
		b.echo("notes_search")
		b.answer("guard", hook.ToolBefore, hook.Reply{Set: raw("arguments", `{"path":"c"}`)})
		result := b.run("look at a and b")
		want := "user: look at a and b\nassistant: let me look read{\"path\":\"a\"} notes_search{\"path\":\"b\"}\n" +
			"tool: read{\"path\":\"c\"}\ntool: notes_search{\"path\":\"c\"}\nassistant: both are there"
		if b.transcript() != want || result.Text != "both are there" || result.Usage.Input != 30 {
			t.Errorf("transcript\n%s\nwant\n%s\n%+v", b.transcript(), want, result)
		}
		if asked := last(srv); !strings.Contains(asked, `read{\"path\":\"c\"}`) || !strings.Contains(asked, "c2") {
			t.Errorf("the results were not sent: %s", asked)
		}
	})
	eachProvider(t, "a tool whose name has a dot", func(t *testing.T, b *testBed, srv *modeltest.Server) {
		b.echo("notes.search")
		srv.Add(modeltest.Reply{Text: "hello"})
		b.run("hi")
		if asked := last(srv); strings.Contains(asked, `"notes.search"`) {
			t.Errorf("asked with a name that providers refuse: %s", asked)
		}
	})
	eachProvider(t, "the model is told that its arguments are not JSON", func(t *testing.T, b *testBed, srv *modeltest.Server) {
		srv.Add(modeltest.Reply{Tools: []modeltest.Tool{{ID: "c1", Name: "read", Arguments: `{"path":`}}}, modeltest.Reply{Text: "sorry"})
		b.echo("read")
		result := b.run("read")
		if len(result.Tools) != 1 || result.Tools[0].Success || result.Text != "sorry" || !strings.Contains(last(srv), "must be one JSON object") {
			t.Errorf("%+v, asked %s", result, last(srv))
		}
	})
	eachProvider(t, "after an error in mid-stream the model is called again, and the streamed text is discarded", func(t *testing.T, b *testBed, srv *modeltest.Server) {
		srv.Add(modeltest.Reply{Text: "half a", Error: "overloaded_error"}, modeltest.Reply{Text: "whole"})
		result := b.run("hi")
		if result.Text != "whole" || len(b.of(Retrying)) != 1 || b.transcript() != "user: hi\nassistant: whole" {
			t.Errorf("%+v, %d retries, transcript %q", result, len(b.of(Retrying)), b.transcript())
		}
	})
	eachProvider(t, "after 429 the model is called again", func(t *testing.T, b *testBed, srv *modeltest.Server) {
		srv.Add(modeltest.Reply{Status: 429, Error: "rate_limit_error", Header: map[string]string{"Retry-After-Ms": "1"}}, modeltest.Reply{Text: "hello"})
		if result := b.run("hi"); result.Text != "hello" || len(b.of(Retrying)) != 1 {
			t.Errorf("%+v, %d retries", result, len(b.of(Retrying)))
		}
	})
	eachProvider(t, "401 fails the turn without the key in the error", func(t *testing.T, b *testBed, srv *modeltest.Server) {
		srv.Add(modeltest.Reply{Status: 401, Error: "authentication_error"})
		result, err := b.try(t.Context(), "hi")
		if !errors.Is(err, model.ErrAuth) || result.Status != session.Failed || strings.Contains(*result.Error, "key-of-the-test") {
			t.Errorf("%+v, %v", result, err)
		}
	})
	eachProvider(t, "the text that arrived before an interruption is stored", func(t *testing.T, b *testBed, srv *modeltest.Server) {
		srv.Add(modeltest.Reply{Text: "once upon", Hang: true})
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		turn := b.turn("hi")
		turn.Observe = func(e Event) {
			if e.Type == TextDelta && e.Text == "upon" {
				interrupt()
			}
		}
		result, err := b.Run(ctx, turn)
		if !errors.Is(err, context.Canceled) || result.Status != session.Interrupted || b.transcript() != "user: hi\nassistant: once upon"+interruptedMark {
			t.Errorf("%+v, %v, transcript %q", result, err, b.transcript())
		}
	})
	eachProvider(t, "an interrupted conversation can be continued", func(t *testing.T, b *testBed, srv *modeltest.Server) {
		srv.Add(modeltest.Reply{Text: "I will", Tools: []modeltest.Tool{{ID: "c1", Name: "wait", Arguments: `{}`}}}, modeltest.Reply{Text: "gone on"})
		ctx, interrupt := context.WithCancel(t.Context())
		b.tool("wait", func(ctx context.Context, _ Call) (ToolResult, error) {
			interrupt()
			<-ctx.Done()
			return ToolResult{}, ctx.Err()
		})
		if result, err := b.try(ctx, "wait"); err == nil || result.Status != session.Interrupted {
			t.Errorf("%+v, %v", result, err)
		}
		if result := b.run("go on"); result.Text != "gone on" || !strings.Contains(last(srv), adapter.InterruptedTool) {
			t.Errorf("%+v, asked %s", result, last(srv))
		}
	})
	eachProvider(t, "the last call of a turn still names the tools", func(t *testing.T, b *testBed, srv *modeltest.Server) {
		srv.Add(modeltest.Reply{Tools: []modeltest.Tool{{ID: "c1", Name: "read", Arguments: `{}`}}}, modeltest.Reply{Text: "that is all"})
		b.echo("read")
		b.Steps = 2
		if result := b.run("read"); result.Text != "that is all" || !strings.Contains(last(srv), `"tools":[`) || !strings.Contains(last(srv), lastStep) {
			t.Errorf("%+v, asked %s", result, last(srv))
		}
	})
}
