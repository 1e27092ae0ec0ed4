package mcp_test

import (
	"encoding/json"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

func TestMain(m *testing.M) {
	plugtest.PlayMCP()
	plugtest.Main(m, plugtest.Fake{Answer: wellBehaved, Target: "tools/call", Huge: 17 << 20})
}

// wellBehaved is a server of the suite that works: its tool returns its name.
func wellBehaved(name, method string, _ json.RawMessage) any {
	switch {
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
