package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/patchbay-dev/patchbay/adapter"
	"github.com/patchbay-dev/patchbay/internal/mcpcall"
)

// raw returns a tool whose result is an answer of an MCP server.
func raw(name, answer string) adapter.Tool {
	return adapter.Tool{Name: name, Run: func(context.Context, adapter.Call) (adapter.ToolResult, error) {
		return adapter.ToolResult{Output: "as text", Success: true, Raw: json.RawMessage(answer)}, nil
	}}
}

// TestAnswersThatTheLibraryDoesNotSurvive: the MCP library panics at some invalid answers of the
// MCP servers behind us. Such an answer does not end the daemon.
func TestAnswersThatTheLibraryDoesNotSurvive(t *testing.T) {
	eras(t, func(t *testing.T, old bool) {
		f := &fake{
			tools: []adapter.Tool{raw("question", `{"content":[],"inputRequests":{"who":null}}`), raw("content", `{"content":[null]}`)},
			offer: []Offer{
				{Kind: Prompts, Name: "greet", Plugin: "p", Definition: json.RawMessage(`{"name":"greet"}`)},
				{Kind: Resources, Name: "memo://one", Plugin: "r", Definition: json.RawMessage(`{"uri":"memo://one","name":"one"}`)},
			},
		}
		s := client(t, Options{Host: f}, old, nil)
		for _, name := range []string{"question", "content"} {
			if r, err := call(t, s, name, nil); err != nil || text(r) != "as text" {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
		}
		for _, answer := range []string{`{"contents":[null]}`, `{"contents":null}`, `null`, `[]`, `{"inputRequests":{"who":null}}`} {
			f.answers = map[string]string{"resources/read": answer}
			if r, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "memo://one"}); err == nil {
				t.Errorf("%s: %+v", answer, r)
			}
		}
		for _, answer := range []string{`{"messages":[null]}`, `{"messages":[{"role":"user","content":null}]}`, `[]`, `{"inputRequests":{"who":null}}`} {
			f.answers = map[string]string{"prompts/get": answer}
			_, _ = s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "greet"}) // the client library decides what it makes of a null
		}
		f.answers = nil
		if _, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "memo://one"}); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// TestQuestionsThatTheLibraryDoesNotSurvive: a reference in the schema of a question is refused,
// whether a server asks during a call or asks instead of giving a result. The library would follow
// it without end when the answer comes, which no recover can catch.
func TestQuestionsThatTheLibraryDoesNotSurvive(t *testing.T) {
	for name, schema := range map[string]string{
		"itself":            `{"type":"object","$ref":"#"}`,
		"itself, below":     `{"type":"object","allOf":[{"$ref":"#"}]}`,
		"a definition":      `{"type":"object","$defs":{"a":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`,
		"itself, escaped":   `{"type":"object","\u0024ref":"#"}`,
		"itself, by anchor": `{"type":"object","$dynamicAnchor":"a","$dynamicRef":"#a"}`,
	} {
		t.Run(name, func(t *testing.T) {
			params := `{"mode":"form","message":"Who?","requestedSchema":` + schema + `}`
			questions := `{"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":` + params + `}},"requestState":"s"}`
			asked := make(chan error, 1)
			pending := raw("pending", questions)
			pending.Run = func(context.Context, adapter.Call) (adapter.ToolResult, error) {
				return adapter.ToolResult{Success: true, Pending: true, Raw: json.RawMessage(questions)}, nil
			}
			f := &fake{
				tools: []adapter.Tool{pending, {Name: "ask", Run: func(ctx context.Context, _ adapter.Call) (adapter.ToolResult, error) {
					_, err := mcpcall.From(ctx).Ask(ctx, "elicitation/create", json.RawMessage(params))
					asked <- err
					return adapter.ToolResult{Success: true}, nil
				}}},
				offer: []Offer{
					{Kind: Prompts, Name: "greet", Plugin: "p", Definition: json.RawMessage(`{"name":"greet"}`)},
					{Kind: Resources, Name: "memo://one", Plugin: "r", Definition: json.RawMessage(`{"uri":"memo://one","name":"one"}`)},
				},
				answers: map[string]string{"prompts/get": questions, "resources/read": questions},
			}
			s := client(t, Options{Host: f}, true, &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				t.Error("the client was asked")
				return &sdk.ElicitResult{Action: "decline"}, nil
			}})
			if _, err := call(t, s, "ask", nil); err != nil {
				t.Error(err)
			}
			_, pendingErr := call(t, s, "pending", nil)
			_, promptErr := s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "greet"})
			_, resourceErr := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "memo://one"})
			for by, err := range map[string]error{"a question": <-asked, "a tool": pendingErr, "a prompt": promptErr, "a resource": resourceErr} {
				if err == nil || !strings.Contains(err.Error(), "may not contain a reference") {
					t.Errorf("%s: %v", by, err)
				}
			}
		})
	}
	if hasReference(map[string]any{"properties": map[string]any{"$ref": map[string]any{"type": "string"}}}) {
		t.Error("a property with the name $ref is refused")
	}
	if err := checkQuestions(make(sdk.InputRequestMap)); err != nil {
		t.Error(err)
	}
	many := make(sdk.InputRequestMap)
	for i := range mostQuestions + 1 {
		many[fmt.Sprint(i)] = &sdk.ElicitParams{}
	}
	if err := checkQuestions(many); err == nil {
		t.Error("any number of questions may be asked at once")
	}
}

const beginSession = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// post sends a message of a session, or of a client without one.
func post(t *testing.T, h http.Handler, session, body string) *httptest.ResponseRecorder {
	t.Helper()
	ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, &net.TCPAddr{})
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set(sessionHeader, session)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestSessionsAreBounded: clients that begin sessions and never end them do not take more and more
// memory, and do not keep others out.
func TestSessionsAreBounded(t *testing.T) {
	s := New(Options{Host: new(fake)})
	defer s.Close()
	h := s.Handler(0)
	begin := func() string {
		t.Helper()
		resp := post(t, h, "", beginSession)
		id := resp.Header().Get(sessionHeader)
		if resp.Code != http.StatusOK || id == "" {
			t.Fatalf("a new session: %d", resp.Code)
		}
		return id
	}
	ping := func(id string) int { return post(t, h, id, `{"jsonrpc":"2.0","id":2,"method":"ping"}`).Code }
	first, second := begin(), begin()
	for range mostSessions - 2 {
		begin()
	}
	if status := ping(first); status != http.StatusOK {
		t.Fatalf("the first session: %d", status)
	}
	third := begin() // one too many
	for end := time.Now().Add(patience); len(s.open()) > mostSessions; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d sessions are open", len(s.open()))
		}
	}
	for id, want := range map[string]int{first: http.StatusOK, second: http.StatusNotFound, third: http.StatusOK} {
		if status := ping(id); status != want {
			t.Errorf("%d, want %d", status, want)
		}
	}
	t.Run("a session with a request in progress stays", func(t *testing.T) {
		for id := range s.open() {
			defer s.visit(id)()
		}
		begin() // one more, because all are in use
		if n := len(s.open()); n != mostSessions+1 {
			t.Errorf("%d sessions are open", n)
		}
	})
	t.Run("ids that clients make up are not remembered", func(t *testing.T) {
		for i := range 100 {
			if status := ping(fmt.Sprint("made up ", i)); status != http.StatusNotFound {
				t.Fatal(status)
			}
		}
		if n := len(s.sessions.visits); n > mostSessions+1 {
			t.Errorf("%d sessions are remembered", n)
		}
	})
}

// TestCallsAreBounded: batches, and clients that leave before their calls end, do not make more and
// more calls run at the same time.
func TestCallsAreBounded(t *testing.T) {
	f := &fake{tools: []adapter.Tool{echo("echo")}, offer: []Offer{
		{Kind: Resources, Name: "memo://one", Plugin: "r", Definition: json.RawMessage(`{"uri":"memo://one","name":"one"}`)}}}
	s := New(Options{Host: f})
	defer s.Close()
	h := s.Handler(0)
	session := post(t, h, "", beginSession).Header().Get(sessionHeader)
	if resp := post(t, h, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); resp.Code != http.StatusAccepted {
		t.Fatal(resp.Code)
	}
	ask := func() (answers string) {
		for _, message := range []string{
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}`,
			`{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"memo://one"}}`,
		} {
			answers += post(t, h, session, message).Body.String()
		}
		return answers
	}
	s.calls.Store(mostCalls)
	if got := ask(); strings.Count(got, "too many calls at the same time: at most 256") != 2 || strings.Contains(got, "hello") {
		t.Errorf("one too many: %s", got)
	}
	_, end, err := s.begin(t.Context()) // over pipes or the socket
	if err != nil {
		t.Fatalf("a call that does not come over TCP: %v", err)
	}
	end()
	s.calls.Add(-1)
	if got := ask(); !strings.Contains(got, "hello") || !strings.Contains(got, "a memo") {
		t.Errorf("afterwards: %s", got)
	}
	if n := s.calls.Load(); n != mostCalls-1 {
		t.Errorf("%d calls are in progress", n)
	}
}

// TestCallsOverTCPAreCounted: the context of a call says how its client has connected.
func TestCallsOverTCPAreCounted(t *testing.T) {
	eras(t, func(t *testing.T, old bool) {
		counted := make(chan bool, 1)
		f := &fake{tools: []adapter.Tool{{Name: "look", Run: func(ctx context.Context, _ adapter.Call) (adapter.ToolResult, error) {
			counted <- overTCP(ctx)
			return adapter.ToolResult{Success: true}, nil
		}}}}
		s := client(t, Options{Host: f}, old, nil)
		if _, err := call(t, s, "look", nil); err != nil || !<-counted {
			t.Errorf("a call over TCP is not counted, %v", err)
		}
	})
}

// TestReplaysAreBounded: a session with many answers does not take more and more memory, and its
// newest answers can still be read again.
func TestReplaysAreBounded(t *testing.T) {
	r, ctx := newReplays(), t.Context()
	add := func(stream string) {
		t.Helper()
		if err := errors.Join(r.Open(ctx, "s", stream), r.Append(ctx, "s", stream, []byte("one")), r.Append(ctx, "s", stream, []byte("two"))); err != nil {
			t.Fatal(err)
		}
	}
	rest := func(stream string) (all string, err error) {
		for data, err := range r.After(ctx, "s", stream, 0) {
			if err != nil {
				return "", err
			}
			all += string(data)
		}
		return all, nil
	}
	add("") // what the server sends by itself
	for i := range 3 * mostReplays {
		add(fmt.Sprint(i))
	}
	if n := len(r.streams["s"]); n != mostReplays {
		t.Errorf("%d streams are kept", n)
	}
	for _, stream := range []string{"", fmt.Sprint(3*mostReplays - 1), fmt.Sprint(2*mostReplays + 1)} {
		if got, err := rest(stream); got != "two" || err != nil {
			t.Errorf("stream %q: %q, %v", stream, got, err)
		}
	}
	late := r.Append(ctx, "s", "0", []byte("late")) // an old call that is still in progress
	if got, err := rest("0"); err == nil || late != nil {
		t.Errorf("a forgotten stream: %q, %v, %v", got, err, late)
	}
	if err := r.SessionClosed(ctx, "s"); err != nil || len(r.streams) != 0 {
		t.Errorf("after the session: %v, %v", r.streams, err)
	}
	if _, err := rest(""); err == nil {
		t.Error("a session that has ended can be read again")
	}
}
