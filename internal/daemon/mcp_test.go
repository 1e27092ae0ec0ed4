package daemon

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/journal"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// guard is a Python plugin that refuses the text "forbidden" in every tool, and replaces another
// text.
const guard = `__plugin__ = {"api": "1.0", "name": "guard"}
@on_tool_call
async def look(ctx, call):
    if call.input.get("text") == "rewrite":
        return ToolCall(call.tool_name, call.tool_call_id, {"text": "rewritten"})

@on_resolve_tool
async def block(ctx, call):
    if call.input.get("text") == "forbidden":
        return ToolResult(call.tool_call_id, call.tool_name, "blocked by guard", False)
`

// TestMCPOverHTTP runs a whole daemon with an MCP server among its plugins, and an MCP client.
func TestMCPOverHTTP(t *testing.T) {
	h := newTestHome(t)
	path := plugtest.InstallMCP(t, h.home, plugtest.MCPBoth)
	table := func(name string) string {
		return fmt.Sprintf("[[mcp]]\nname = %q\ncommand = [%q]\n", name, path)
	}
	h.write(".config/patchbay/config.toml", table("small"))
	s := h.serve("", Limits{})
	told := make(chan struct{}, 16)
	client := s.mcpClient(&sdk.ClientOptions{ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { told <- struct{}{} }})
	t.Run("tools are listed with the whole definition of their server", func(t *testing.T) {
		tools := s.mcpTools(client)
		i := slices.IndexFunc(tools, func(t *sdk.Tool) bool { return t.Name == "small_echo" })
		if i < 0 || tools[i].Title != "T" || tools[i].Annotations == nil || !tools[i].Annotations.ReadOnlyHint {
			t.Errorf("%+v", tools)
		}
		if slices.ContainsFunc(tools, func(t *sdk.Tool) bool { return t.Name == "shell" }) {
			t.Error("a built-in tool is offered without the option")
		}
	})
	t.Run("a call is made and recorded", func(t *testing.T) {
		r, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "small_echo", Arguments: map[string]any{"text": "hello"}})
		if err != nil || r.IsError || r.Content[0].(*sdk.TextContent).Text != "hello" {
			t.Fatalf("%+v, %v", r, err)
		}
		for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			events, err := s.Journal.Newest(t.Context(), 0, journal.Filter{Kinds: []string{string(chat.ToolFinished)}}, 10)
			if err != nil {
				t.Fatal(err)
			}
			if len(events) == 1 && strings.Contains(string(events[0].Data), "small_echo") && strings.HasPrefix(events[0].Session, "mcp") {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("the journal has no such call: %+v", events)
			}
		}
	})
	t.Run("new plugins are announced", func(t *testing.T) {
		h.write(".config/patchbay/config.toml", table("small")+table("second"))
		if err := s.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case <-told:
		case <-time.After(patience):
			t.Fatal("the client was not notified")
		}
		for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			if slices.ContainsFunc(s.mcpTools(client), func(t *sdk.Tool) bool { return t.Name == "second_echo" }) {
				return
			}
			if time.Now().After(end) {
				t.Fatal("its tools are not listed")
			}
		}
	})
	t.Run("requests of other origins are refused", func(t *testing.T) {
		body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
		for _, headers := range [][]string{{"Origin", "http://evil.example"}, {"Host", "evil.example"}, {"Sec-Fetch-Site", "cross-site"}} {
			if got := s.do("POST", "/mcp", body, append(headers, "Accept", "application/json, text/event-stream")...); got.status != 403 {
				t.Errorf("%v: %d %s", headers, got.status, got.body)
			}
		}
		if got := s.do("POST", "/mcp", body, "Content-Type", "text/plain"); got.status != 415 {
			t.Errorf("%d %s", got.status, got.body)
		}
	})
}

// TestMCPToolsPassPlugins checks that a Python plugin can block and change the calls of an MCP
// client.
func TestMCPToolsPassPlugins(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	h := newTestHome(t)
	path := plugtest.InstallMCP(t, h.home, plugtest.MCPHandshake)
	h.write(".config/patchbay/config.toml", fmt.Sprintf("[[mcp]]\nname = \"small\"\ncommand = [%q]\n", path))
	h.write(".agent/plugins/guard.py", guard)
	s := h.serve("", Limits{})
	client := s.mcpClient(nil)
	for text, want := range map[string]string{"plain": "plain", "rewrite": "rewritten", "forbidden": "blocked by guard"} {
		r, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "small_echo", Arguments: map[string]any{"text": text}})
		if err != nil || !strings.Contains(r.Content[0].(*sdk.TextContent).Text, want) {
			t.Errorf("%s: %+v, %v", text, r, err)
		}
	}
}

// TestMCPToken checks that requests without the token are refused.
func TestMCPToken(t *testing.T) {
	h := newTestHome(t)
	h.write(".config/patchbay/config.toml", "[server]\ntoken = \"open sesame\"\n")
	s := h.serve("", Limits{})
	if got := s.do("POST", "/mcp", `{}`); got.status != 401 {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.do("GET", "/mcp", "", "Authorization", "Bearer open sesam"); got.status != 401 {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.do("POST", "/mcp", `{}`, "Authorization", "Bearer open sesame", "Accept", "application/json, text/event-stream"); got.status == 401 || got.status == 403 {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// mcpClient returns an MCP client of the daemon.
func (s *served) mcpClient(o *sdk.ClientOptions) *sdk.ClientSession {
	s.t.Helper()
	transport := &sdk.StreamableClientTransport{Endpoint: "http://" + s.addr + "/mcp", HTTPClient: &http.Client{Transport: s.client.Transport}}
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, o).Connect(ctx, transport, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = session.Close() })
	return session
}

func (s *served) mcpTools(client *sdk.ClientSession) []*sdk.Tool {
	s.t.Helper()
	r, err := client.ListTools(s.t.Context(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return r.Tools
}
