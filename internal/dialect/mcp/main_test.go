package mcp_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

func TestMain(m *testing.M) {
	plugtest.PlayMCP()
	plugtest.Main(m, plugtest.Fake{Answer: wellBehaved, Target: "tools/call", Huge: 17 << 20})
}

// wellBehaved is a server of the suite that works: its tool returns its name.
func wellBehaved(name, method string, params json.RawMessage) any {
	switch {
	case name == "fake-odd-lists":
		return oddLists(method, params)
	case method == "initialize" && name == "fake-odd-welcome":
		return 42
	case method == "initialize" && name == "fake-old-version":
		return map[string]any{"protocolVersion": "1999-01-01", "capabilities": map[string]any{}}
	}
	switch method {
	case "initialize":
		return map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": name}}
	case "tools/list":
		return map[string]any{"tools": []any{map[string]any{"name": "make", "inputSchema": map[string]any{"type": "object"}}}}
	case "tools/call":
		return map[string]any{"content": []any{map[string]any{"type": "text", "text": name}}}
	}
	return map[string]any{}
}

// oddLists answers for a server with a tool on each of 150 pages, with two prompts of one name, and
// with a resource without an address.
func oddLists(method string, params json.RawMessage) any {
	var at struct {
		Cursor string `json:"cursor"`
	}
	if err := json.Unmarshal(params, &at); err != nil {
		panic(err)
	}
	page, _ := strconv.Atoi(at.Cursor) // no cursor: the first page
	switch method {
	case "initialize":
		return map[string]any{"protocolVersion": "2025-11-25", "serverInfo": map[string]any{"name": "odd"},
			"capabilities": map[string]any{"tools": map[string]any{}, "prompts": map[string]any{}, "resources": map[string]any{}}}
	case "tools/list":
		out := map[string]any{"tools": []any{map[string]any{"name": "tool" + strconv.Itoa(page), "inputSchema": map[string]any{"type": "object"}}}}
		if page < 149 {
			out["nextCursor"] = strconv.Itoa(page + 1)
		}
		return out
	case "prompts/list":
		return map[string]any{"prompts": []any{map[string]any{"name": "greet"}, map[string]any{"name": "greet"}}}
	case "resources/list":
		return map[string]any{"resources": []any{map[string]any{"name": "nowhere"}}}
	}
	return map[string]any{}
}
