package model

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/model/modeltest"
)

// These tests check the headers and paths of requests, and how far a server may differ from its
// provider's documents.

func TestHeaders(t *testing.T) {
	own := map[string]map[string]string{
		ProviderAnthropic: {"X-Api-Key": testKey, "Authorization": "", "Anthropic-Version": "2023-06-01"},
		ProviderOpenAI:    {"X-Api-Key": "", "Authorization": "Bearer " + testKey, "Anthropic-Version": ""},
	}
	eachProvider(t, func(t *testing.T, f *fixture) {
		f.play(t, modeltest.Reply{})
		f.must(t, nil)
		want := own[f.provider]
		want["Content-Type"], want["Accept"], want["User-Agent"], want["Accept-Encoding"] = "application/json", "application/json", "patchbay", "gzip"
		for name, value := range want {
			if got := f.server.Last().Header.Get(name); got != value {
				t.Errorf("%s: got %q, want %q", name, got, value)
			}
		}
	})
}

// pages serves one kind of answer, and records the requested paths.
func pages(t *testing.T, answer http.HandlerFunc) (base string, paths func() []string) {
	t.Helper()
	var (
		mu   sync.Mutex
		seen []string
	)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.URL.Path)
		mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen)
	}
}

func TestABaseMayHaveAPath(t *testing.T) {
	for base, want := range map[string][2]string{
		"":               {"/v1/messages", "/chat/completions"},
		"/v1":            {"/v1/messages", "/v1/chat/completions"},
		"/gateway/llm/":  {"/gateway/llm/v1/messages", "/gateway/llm/chat/completions"},
		"/gateway/v1//":  {"/gateway/v1/messages", "/gateway/v1/chat/completions"},
		"/space%20d/v1/": {"/space d/v1/messages", "/space d/v1/chat/completions"},
	} {
		eachProvider(t, func(t *testing.T, f *fixture) {
			url, paths := pages(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusTeapot) })
			f.open(t, Config{BaseURL: url + base})
			f.fails(t, nil)
			path := want[0]
			if f.provider == ProviderOpenAI {
				path = want[1]
			}
			equal(t, paths(), []string{path})
		})
	}
}

// anthropicEnd and openaiEnd are the proper ends of a stream.
const (
	anthropicEnd = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	openaiEnd = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
)

// A streamCase is a stream of events with the expected reply.
type streamCase struct{ rule, stream, want string }

// checkStreams compares the replies as texts: text, calls and tokens.
func checkStreams(t *testing.T, provider, end string, all []streamCase) {
	t.Helper()
	for _, c := range all {
		s := &fixedAnswer{status: http.StatusOK, kind: "text/event-stream", body: []byte(c.stream + end)}
		resp, _, err := s.ask(t, provider)
		if err != nil {
			t.Errorf("%s: %v", c.rule, err)
			continue
		}
		if got := showReply(resp); got != c.want {
			t.Errorf("%s: got %s, want %s", c.rule, got, c.want)
		}
	}
}

func TestOpenAIServersMayBeSloppy(t *testing.T) {
	delta := func(json string) string { return `data: {"choices":[{"delta":` + json + `}]}` + "\n\n" }
	usage := func(json string) string {
		return `data: {"choices":[{"delta":{"content":"c"}}],"usage":` + json + "}\n\n"
	}
	checkStreams(t, ProviderOpenAI, openaiEnd, []streamCase{
		{"no role, no index", delta(`{"content":"a"}`), `"a"`},
		{"null for missing values", delta(`{"content":null,"refusal":null,"tool_calls":null}`) + delta(`null`), `""`},
		{"a number for a text", delta(`{"content":5}`), `"5"`},
		{"no choices", `data: {"choices":null,"usage":{"prompt_tokens":1}}` + "\n\n", `"" 1/0`},
		{"choices of another kind", `data: {"choices":{"a":1}}` + "\n\n" + `data: {"choices":[5,null]}` + "\n\n", `""`},
		{"arguments that are an object", delta(`{"tool_calls":[{"index":0,"id":"i","function":{"name":"n","arguments":{"a":1}}}]}`), `"" i=n({"a":1})`},
		{"arguments that are null", delta(`{"tool_calls":[{"index":null,"id":null,"function":{"name":"n","arguments":null}}]}`), `"" call_1=n({})`},
		{"a text for an index", delta(`{"tool_calls":[{"index":"1","id":5,"function":{"name":"n","arguments":"{}"}}]}`), `"" 5=n({})`},
		{"calls without numbers", delta(`{"tool_calls":[{"id":"x","function":{"name":"n"}},{"id":"y","function":{"name":"n"}}]}`), `"" x=n({}) y=n({})`},
		{"calls of another kind", delta(`{"tool_calls":{"index":0}}`), `""`},
		{"tokens as texts and fractions", usage(`{"prompt_tokens":"12","completion_tokens":7.9}`), `"c" 12/7`},
		{"impossible numbers of tokens", usage(`{"prompt_tokens":1e30,"completion_tokens":-5}`), `"c"`},
		{"usage of another kind", usage(`[1]`), `"c"`},
		{"an end of another kind", `data: {"choices":[{"delta":{"content":"c"},"finish_reason":3}]}` + "\n\n", `"c"`},
		{"comments, ids and retries", ": hello\n\nid: 5\nretry: 10\n" + delta(`{"content":"a"}`), `"a"`},
		{"lines that end in CR LF", strings.ReplaceAll(delta(`{"content":"a"}`), "\n", "\r\n"), `"a"`},
		{"no space after the colon", strings.ReplaceAll(delta(`{"content":"a"}`), "data: ", "data:"), `"a"`},
		{"no error", `data: {"error":null,"choices":[{"delta":{"content":"a"}}]}` + "\n\n", `"a"`},
		{"an event in two lines", "data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"a\"}}]}\n\n", `"a"`},
	})
}

func TestAnthropicServersMayBeSloppy(t *testing.T) {
	event := func(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }
	typed := func(name, rest string) string { return event(name, `{"type":"`+name+`",`+rest+`}`) }
	checkStreams(t, ProviderAnthropic, anthropicEnd, []streamCase{
		{"tokens as texts and fractions", typed("message_start", `"message":{"usage":{"input_tokens":"12","cache_read_input_tokens":3.0,"cache_creation_input_tokens":null}}`), `"" 15/0`},
		{"a message of another kind", typed("message_start", `"message":5`) + typed("message_start", `"message":null`), `""`},
		{"a delta without a start", typed("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":"a"}`), `"a"`},
		{"a number for a text", typed("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":5}`), `"5"`},
		{"deltas of another kind", typed("content_block_delta", `"index":0,"delta":null`) + typed("content_block_delta", `"index":0,"delta":[]`), `""`},
		{"a text in the start", typed("content_block_start", `"index":0,"content_block":{"type":"text","text":"a"}`), `"a"`},
		{"arguments that are an object", typed("content_block_start", `"index":"0","content_block":{"type":"tool_use","id":5,"name":"n"}`) +
			typed("content_block_delta", `"index":0,"delta":{"type":"input_json_delta","partial_json":{"a":1}}`), `"" 5=n({"a":1})`},
		{"a tool that the server runs", typed("content_block_start", `"index":0,"content_block":{"type":"server_tool_use","id":"a","name":"n"}`) +
			typed("content_block_delta", `"index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}`), `""`},
		{"unknown events", typed("tomorrow", `"a":1`) + event("tomorrow", ``), `""`},
		{"events without a name", `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}` + "\n\n", `"a"`},
		{"pings of any kind", event("ping", "pong") + event("ping", ``) + "event: ping\n\n", `""`},
		{"lines that end in CR LF", strings.ReplaceAll(typed("content_block_start", `"index":0,"content_block":{"type":"text","text":"a"}`), "\n", "\r\n"), `"a"`},
	})
}

// showReply returns a reply in one line.
func showReply(r *Response) string {
	var b strings.Builder
	b.WriteString(quote(r.Text))
	for _, c := range r.ToolCalls {
		b.WriteString(" " + c.ID + "=" + c.Name + "(" + string(c.Arguments) + ")")
	}
	if r.Usage != (Usage{}) {
		fmt.Fprintf(&b, " %d/%d", r.Usage.Input, r.Usage.Output)
	}
	return b.String()
}

func TestAnswersMayBeCompressed(t *testing.T) {
	streams := map[string]string{
		ProviderAnthropic: "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"packed\"}}\n\n" + anthropicEnd,
		ProviderOpenAI:    "data: {\"choices\":[{\"delta\":{\"content\":\"packed\"}}]}\n\n" + openaiEnd,
	}
	eachProvider(t, func(t *testing.T, f *fixture) {
		url, _ := pages(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			if _, err := io.WriteString(z, streams[f.provider]); err != nil {
				t.Error(err)
			}
			if err := z.Close(); err != nil {
				t.Error(err)
			}
		})
		f.open(t, Config{BaseURL: url})
		resp, _ := f.must(t, nil)
		equal(t, resp.Text, "packed")
	})
}

func TestAServerThatNeverAnswersIsIdle(t *testing.T) {
	eachProvider(t, func(t *testing.T, f *fixture) {
		quit := make(chan struct{})
		url, paths := pages(t, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // so that the server notices when the client disconnects
			select {
			case <-r.Context().Done():
			case <-quit:
			}
		})
		t.Cleanup(func() { close(quit) })
		f.open(t, Config{BaseURL: url, Idle: 50 * time.Millisecond})
		if e := f.fails(t, nil); !strings.Contains(e.Error(), "sent nothing for too long (50ms)") || e.Tries != 1 {
			t.Errorf("got %v after %d tries at %q", e, e.Tries, paths())
		}
	})
}

// TestAProxyOfTheEnvironmentIsUsed asks from its own process, because net/http reads the variables
// once.
func TestAProxyOfTheEnvironmentIsUsed(t *testing.T) {
	if base := os.Getenv("MODEL_TEST_BEHIND_PROXY"); base != "" {
		m, err := Open(Config{Provider: os.Getenv("MODEL_TEST_PROVIDER"), Name: "x", BaseURL: base})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := m.Reply(t.Context(), asked("hello"), nil)
		if err != nil || resp.Text != "by proxy" {
			t.Fatalf("got %+v, %v", resp, err)
		}
		http.DefaultClient.CloseIdleConnections()
		return
	}
	eachProvider(t, func(t *testing.T, f *fixture) {
		proxy := f.serve(t, modeltest.Reply{Text: "by proxy"})
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAProxyOfTheEnvironmentIsUsed$")
		child.Env = append(os.Environ(), "MODEL_TEST_BEHIND_PROXY=http://model.invalid/v1", "MODEL_TEST_PROVIDER="+f.provider,
			"HTTP_PROXY="+proxy.URL, "http_proxy="+proxy.URL, "NO_PROXY=", "no_proxy=")
		if out, err := child.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		equal(t, len(proxy.Requests()), 1)
	})
}
