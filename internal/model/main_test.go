package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/internal/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testKey must not appear in any message, log or print.
const testKey = "key-that-nobody-may-see"

// A fixture is one provider with a server that plays replies.
type fixture struct {
	provider string
	serve    func(testing.TB, ...modeltest.Reply) *modeltest.Server
	server   *modeltest.Server
	model    *remote
	waits    []time.Duration // the pauses between tries, which are skipped
	log      bytes.Buffer
}

// eachProvider runs a rule that holds for both providers.
func eachProvider(t *testing.T, rule func(t *testing.T, f *fixture)) {
	t.Helper()
	t.Run("anthropic", func(t *testing.T) { rule(t, &fixture{provider: ProviderAnthropic, serve: modeltest.Anthropic}) })
	t.Run("openai", func(t *testing.T) { rule(t, &fixture{provider: ProviderOpenAI, serve: modeltest.OpenAI}) })
}

// play starts the server and opens the model.
func (f *fixture) play(t *testing.T, replies ...modeltest.Reply) {
	t.Helper()
	f.server = f.serve(t, replies...)
	f.open(t, Config{BaseURL: f.server.URL})
}

func (f *fixture) open(t *testing.T, c Config) {
	t.Helper()
	c.Provider, c.Name = f.provider, "test-model"
	c.Getenv = func(name string) string {
		if strings.HasSuffix(name, "_API_KEY") {
			return testKey
		}
		return ""
	}
	c.Logger = slog.New(slog.NewTextHandler(&f.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	m, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	f.model = m.(*remote)
	f.model.wait = func(ctx context.Context, d time.Duration) error {
		f.waits = append(f.waits, d)
		return ctx.Err()
	}
}

// ask asks for a reply to one message, and collects the streamed deltas.
func (f *fixture) ask(t *testing.T, req *Request) (*Response, []Delta, error) {
	t.Helper()
	if req == nil {
		req = asked("hello")
	}
	var deltas []Delta
	resp, err := f.model.Reply(t.Context(), req, func(d Delta) { deltas = append(deltas, d) })
	return resp, deltas, err
}

// must calls ask, and fails the test if that returns an error.
func (f *fixture) must(t *testing.T, req *Request) (*Response, []Delta) {
	t.Helper()
	resp, deltas, err := f.ask(t, req)
	if err != nil {
		t.Fatal(err)
	}
	return resp, deltas
}

// fails calls ask, and fails the test if that returns no error.
func (f *fixture) fails(t *testing.T, req *Request) *Error {
	t.Helper()
	resp, _, err := f.ask(t, req)
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("got %+v, %v", resp, err)
	}
	return e
}

func asked(texts ...string) *Request {
	req := &Request{}
	for _, text := range texts {
		req.Messages = append(req.Messages, Message{Role: User, Content: text})
	}
	return req
}

// streamed returns the text that a listener has at the end.
func streamed(deltas []Delta) string {
	text := ""
	for _, d := range deltas {
		if d.Retry != nil {
			text = ""
		}
		text += d.Text
	}
	return text
}

func retries(deltas []Delta) []*Retry {
	var all []*Retry
	for _, d := range deltas {
		if d.Retry != nil {
			all = append(all, d.Retry)
		}
	}
	return all
}

func call(id, name, arguments string) ToolCall {
	return ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
}

// equal compares two values, and shows both as JSON.
func equal(t *testing.T, got, want any) {
	t.Helper()
	if reflect.DeepEqual(got, want) {
		return
	}
	g, err := json.MarshalIndent(got, "", " ")
	if err != nil {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	w, err := json.MarshalIndent(want, "", " ")
	if err != nil {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	t.Errorf("got %s\nwant %s", g, w)
}
