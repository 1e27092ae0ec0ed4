package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/adapter"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
)

const patience = time.Minute

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a host whose tools, offers and answers are set by the test.
type fake struct {
	mu    sync.Mutex
	tools []adapter.Tool
	offer []Offer
	tell  func(Kind, string)
	fire  func(point hook.Point, payload map[string]any) *hook.Outcome // nil: no plugin is called
	asked []string

	answers map[string]string // to methods, in place of the usual ones
}

func (f *fake) Fire(_ context.Context, point hook.Point, payload any) (*hook.Outcome, error) {
	raw, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	out := &hook.Outcome{Point: point, Verdict: hook.Continue, Payload: raw}
	if f.fire == nil {
		return out, nil
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	if special := f.fire(point, fields); special != nil {
		return special, nil
	}
	out.Payload, err = json.Marshal(fields)
	return out, err
}

func (f *fake) Tools() []adapter.Tool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.tools)
}

func (f *fake) Offers() []Offer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.offer)
}

func (f *fake) Ask(_ context.Context, plugin, method string, params json.RawMessage) (json.RawMessage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, plugin+" "+method+" "+string(params))
	if answer, ok := f.answers[method]; ok {
		return json.RawMessage(answer), nil
	}
	switch method {
	case "prompts/get":
		return json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":"hello"}}]}`), nil
	case "resources/read":
		return json.RawMessage(`{"contents":[{"uri":"memo://one","text":"a memo"}]}`), nil
	}
	return json.RawMessage(`{}`), nil
}

func (f *fake) Watch(tell func(Kind, string)) func() {
	f.tell = tell
	return func() {}
}

func echo(name string) adapter.Tool {
	return adapter.Tool{Name: name, Description: "says it again", Parameters: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`), Plugin: "p",
		Run: func(_ context.Context, c adapter.Call) (adapter.ToolResult, error) {
			var args struct{ Text string }
			err := json.Unmarshal(c.Arguments, &args)
			return adapter.ToolResult{Output: args.Text, Success: true}, err
		}}
}

// client returns an MCP client of a server with these options, over HTTP. It speaks the newest
// version, unless old is set.
func client(t *testing.T, o Options, old bool, opts *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	s := New(o)
	web := httptest.NewServer(handlerOf(s, old))
	c := sdk.NewClient(&sdk.Implementation{Name: "test"}, opts)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	httpClient := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	session, err := c.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: web.URL, HTTPClient: httpClient}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		httpClient.CloseIdleConnections()
		web.CloseClientConnections()
		web.Close()
		s.Close()
	})
	return session
}

// handlerOf returns the server's handler. With old it refuses the modern kind, as an older server
// does.
func handlerOf(s *Server, old bool) http.Handler {
	both := s.Handler(0)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if old && isStateless(r.Header) {
			http.Error(w, "never heard of it", http.StatusBadRequest)
			return
		}
		both.ServeHTTP(w, r)
	})
}

func eras(t *testing.T, test func(t *testing.T, old bool)) {
	for name, old := range map[string]bool{"with a handshake": true, "without sessions": false} {
		t.Run(name, func(t *testing.T) { test(t, old) })
	}
}

func call(t *testing.T, s *sdk.ClientSession, name string, args any) (*sdk.CallToolResult, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return s.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args})
}

func text(r *sdk.CallToolResult) string {
	var texts []string
	for _, c := range r.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "|")
}

// TestCalls: a call goes through the same points as every tool call.
func TestCalls(t *testing.T) {
	eras(t, func(t *testing.T, old bool) {
		f := &fake{tools: []adapter.Tool{echo("echo")}}
		var seen []hook.Point
		var mu sync.Mutex
		f.fire = func(point hook.Point, p map[string]any) *hook.Outcome {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, point)
			args, _ := p["arguments"].(map[string]any)
			switch {
			case point == hook.ToolBefore && args["text"] == "forbidden":
				return &hook.Outcome{Point: point, Verdict: hook.Deny, By: "guard", Reason: "not that", Payload: json.RawMessage(`{}`)}
			case point == hook.ToolBefore && args["text"] == "rewrite":
				args["text"] = "rewritten"
			case point == hook.ToolAfter && p["result"] == "edit":
				p["result"] = "edited"
			}
			return nil
		}
		var events []Event
		s := client(t, Options{Host: f, Observe: func(e Event) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, e)
		}}, old, nil)
		for in, want := range map[string]string{"plain": "plain", "rewrite": "rewritten", "edit": "edited"} {
			if r, err := call(t, s, "echo", map[string]any{"text": in}); err != nil || r.IsError || text(r) != want {
				t.Errorf("%s: %+v, %v", in, r, err)
			}
		}
		r, err := call(t, s, "echo", map[string]any{"text": "forbidden"})
		if err != nil || !r.IsError || text(r) != "refused by plugin guard: not that" {
			t.Errorf("a refusal is a result: %+v, %v", r, err)
		}
		r, err = call(t, s, "echo", map[string]any{"text": 3})
		if err != nil || !r.IsError || !strings.Contains(text(r), "do not fit") {
			t.Errorf("arguments that do not fit: %+v, %v", r, err)
		}
		mu.Lock()
		defer mu.Unlock()
		if want := []hook.Point{hook.ToolBefore, hook.ToolResolve, hook.ToolAfter}; !slices.Equal(seen[:3], want) {
			t.Errorf("points %v", seen)
		}
		if len(events) != 5 || events[0].Tool.Call.Name != "echo" || !strings.HasPrefix(events[0].Session, "mcp") {
			t.Errorf("observed %+v", events)
		}
	})
}

// TestRaw: a result with more than a text reaches the client unchanged, unless a plugin has changed
// it.
func TestRaw(t *testing.T) {
	picture := adapter.Tool{Name: "picture", Run: func(context.Context, adapter.Call) (adapter.ToolResult, error) {
		return adapter.ToolResult{Output: "look", Success: true, Raw: json.RawMessage(`{"content":[{"type":"image","mimeType":"image/png","data":"AAAA"}],"structuredContent":{"n":1}}`)}, nil
	}}
	f := &fake{tools: []adapter.Tool{picture}}
	s := client(t, Options{Host: f}, true, nil)
	r, err := call(t, s, "picture", nil)
	if err != nil || len(r.Content) != 1 || r.StructuredContent == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, ok := r.Content[0].(*sdk.ImageContent); !ok {
		t.Errorf("the picture is a %T", r.Content[0])
	}
	f.fire = func(point hook.Point, p map[string]any) *hook.Outcome {
		if point == hook.ToolAfter {
			p["result"] = "nothing to see"
		}
		return nil
	}
	if r, err := call(t, s, "picture", nil); err != nil || text(r) != "nothing to see" || len(r.Content) != 1 || r.StructuredContent != nil {
		t.Errorf("content that a plugin removed is still there: %+v, %v", r, err)
	}
}

// TestQuestionsHaveNoContent: if a server asks questions before it gives a result, the content
// beside the questions is not passed on, because plugins do not see it.
func TestQuestionsHaveNoContent(t *testing.T) {
	asks := adapter.Tool{Name: "asks", Run: func(context.Context, adapter.Call) (adapter.ToolResult, error) {
		return adapter.ToolResult{Success: true, Pending: true, Raw: json.RawMessage(`{"resultType":"input_required","requestState":"s","content":[{"type":"text","text":"unseen"}],` +
			`"structuredContent":{"n":1},"inputRequests":{"who":{"method":"elicitation/create","params":{"mode":"form","message":"Who?","requestedSchema":{"type":"object"}}}}}`)}, nil
	}}
	server := New(Options{Host: &fake{tools: []adapter.Tool{asks}}})
	defer server.Close()
	asked := adapter.NewToolCall(&adapter.ToolHost{}, model.ToolCall{Name: "asks"})
	result, err := asks.Run(t.Context(), adapter.Call{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := server.answer(t.Context(), asked, result)
	if err != nil || len(r.Content) > 0 || r.StructuredContent != nil || len(r.InputRequests) != 1 || r.RequestState != "s" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestChanges: clients are notified when tools or offers change.
func TestChanges(t *testing.T) {
	eras(t, func(t *testing.T, old bool) {
		f := &fake{tools: []adapter.Tool{echo("one")}}
		told := make(chan struct{}, 16)
		s := client(t, Options{Host: f}, old, &sdk.ClientOptions{ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { told <- struct{}{} }})
		f.mu.Lock()
		f.tools = []adapter.Tool{echo("two")}
		f.mu.Unlock()
		f.tell(Tools, "")
		names := func() []string {
			r, err := s.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range r.Tools {
				names = append(names, tool.Name)
			}
			return names
		}
		for end := time.Now().Add(patience); !slices.Equal(names(), []string{"two"}); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the list is %v", names())
			}
		}
		if !old {
			return // a modern client must subscribe, and this one does not
		}
		select {
		case <-told:
		case <-time.After(patience):
			t.Error("the client was not notified")
		}
	})
}

// TestOffers: prompts and resources are requested from the plugin that has them.
func TestOffers(t *testing.T) {
	eras(t, func(t *testing.T, old bool) {
		f := &fake{offer: []Offer{
			{Kind: Prompts, Name: "greet", Plugin: "p", Definition: json.RawMessage(`{"name":"greet","arguments":[{"name":"who"}]}`)},
			{Kind: Resources, Name: "memo://one", Plugin: "r", Definition: json.RawMessage(`{"uri":"memo://one","name":"one"}`)},
			{Kind: Resources, Name: "no address", Plugin: "r", Definition: json.RawMessage(`{"uri":"no address","name":"bad"}`)},
		}}
		s := client(t, Options{Host: f}, old, nil)
		p, err := s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "greet", Arguments: map[string]string{"who": "Ann"}})
		if err != nil || len(p.Messages) != 1 {
			t.Errorf("%+v, %v", p, err)
		}
		r, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "memo://one"})
		if err != nil || r.Contents[0].Text != "a memo" {
			t.Errorf("%+v, %v", r, err)
		}
		if _, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "memo://two"}); err == nil {
			t.Error("a resource that no server offers was read")
		}
		want := []string{`p prompts/get {"name":"greet","arguments":{"who":"Ann"}}`, `r resources/read {"uri":"memo://one"}`}
		if !slices.Equal(f.asked, want) {
			t.Errorf("asked %q", f.asked)
		}
	})
}

// TestForbidden: a tool that changes something runs only if Forbid allows it.
func TestForbidden(t *testing.T) {
	change := echo("change")
	change.Changes = true
	f := &fake{tools: []adapter.Tool{change, echo("look")}}
	s := client(t, Options{Host: f, Forbid: func(context.Context, *adapter.Tool, model.ToolCall) string { return "not allowed" }}, true, nil)
	if r, err := call(t, s, "change", map[string]any{"text": "x"}); err != nil || !r.IsError || text(r) != "not allowed" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := call(t, s, "look", map[string]any{"text": "x"}); err != nil || r.IsError {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestCancellation: if the client cancels a call, the call ends.
func TestCancellation(t *testing.T) {
	eras(t, func(t *testing.T, old bool) {
		began, ended := make(chan struct{}), make(chan error, 1)
		f := &fake{tools: []adapter.Tool{{Name: "wait", Run: func(ctx context.Context, _ adapter.Call) (adapter.ToolResult, error) {
			close(began)
			select {
			case <-ctx.Done():
				ended <- ctx.Err()
			case <-time.After(patience):
				ended <- errors.New("the call was not cancelled")
			}
			return adapter.ToolResult{}, ctx.Err()
		}}}}
		s := client(t, Options{Host: f}, old, nil)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-began
			cancel()
		}()
		if _, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "wait"}); !errors.Is(err, context.Canceled) {
			t.Errorf("the client has %v", err)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the tool has %v", err)
		}
	})
}
