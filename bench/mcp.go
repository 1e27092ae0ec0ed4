package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpTool calls a tool through the MCP Go SDK, with the SDK's own command transport. The tool is
// added by the low-level Server.AddTool, which neither validates nor re-encodes the arguments.
type mcpTool struct {
	session *mcp.ClientSession
}

func (m *mcpTool) Name() string { return nameMCP }

func (m *mcpTool) Open(ctx context.Context) error {
	cmd, err := childCommand("mcp")
	if err != nil {
		return err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	m.session, err = client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	return err
}

func (m *mcpTool) Call(ctx context.Context, payload []byte) error {
	result, err := m.session.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: json.RawMessage(payload)})
	if err != nil {
		return err
	}
	if len(result.Content) == 1 {
		if text, ok := result.Content[0].(*mcp.TextContent); ok {
			return checkEcho(payload, []byte(text.Text))
		}
	}
	return fmt.Errorf("tool result has %d contents", len(result.Content))
}

func (m *mcpTool) Close() error {
	if m.session == nil {
		return nil
	}
	return m.session.Close()
}

// mcpChild serves one tool that answers with its arguments as text, the form every MCP client
// reads.
func mcpChild() error {
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	tool := &mcp.Tool{Name: "echo", InputSchema: json.RawMessage(`{"type":"object"}`)}
	server.AddTool(tool, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
	})
	return server.Run(context.Background(), &mcp.IOTransport{Reader: pollable(os.Stdin), Writer: os.Stdout})
}
