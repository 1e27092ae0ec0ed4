package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// The series of the MCP section.
const (
	nameMCPDirect  = "MCP tool, made directly"
	nameMCPThrough = "the same through patchbay mcp"
	nameMCPHost    = "the same by Host.CallTool"
)

// mcpDirect calls the tool with the SDK's client, with nothing between client and server.
type mcpDirect struct{ mcpTool }

func (m *mcpDirect) Name() string { return nameMCPDirect }

// mcpHome makes a home with the benchmark's own MCP server as a plugin.
func mcpHome() (dir string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp("", "bench-mcp-"); err != nil {
		return "", err
	}
	table := fmt.Sprintf("[[mcp]]\nname = \"bench\"\ncommand = [%q]\nenv = { %s = \"mcp\" }\nprefix = \"\"\n", self, envChild)
	return dir, os.WriteFile(filepath.Join(dir, "config.toml"), []byte(table), 0o600)
}

// mcpEnviron returns an environment with that home and without the machine's own plugins.
func mcpEnviron(dir string) []string {
	var environ []string
	for _, v := range isolatedEnviron(dir) {
		if !strings.HasPrefix(v, "PATCHBAY_HOME=") {
			environ = append(environ, v)
		}
	}
	return append(environ, "PATCHBAY_HOME="+dir)
}

// mcpThrough uses the same client and server, with Patchbay between them as MCP server and client.
// Each call also passes the points around a call, and is traced.
type mcpThrough struct {
	mcpTool
	program string
	dir     string
}

func (m *mcpThrough) Name() string { return nameMCPThrough }

func (m *mcpThrough) Open(ctx context.Context) (err error) {
	if m.dir, err = mcpHome(); err != nil {
		return err
	}
	cmd := exec.Command(m.program, "mcp")
	cmd.Env, cmd.Dir, cmd.Stderr = mcpEnviron(m.dir), m.dir, os.Stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	m.session, err = client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	return err
}

func (m *mcpThrough) Close() error {
	defer os.RemoveAll(m.dir)
	return m.mcpTool.Close()
}

// mcpHost calls the tool as a program that embeds Patchbay does, without an MCP client in front.
type mcpHost struct {
	hosted
}

func (m *mcpHost) Name() string { return nameMCPHost }

func (m *mcpHost) Open(ctx context.Context) (err error) {
	if m.dir, err = mcpHome(); err != nil {
		return err
	}
	m.host, err = pluginhost.Open(ctx, &pluginhost.Options{Environ: mcpEnviron(m.dir), Dir: m.dir})
	return err
}

func (m *mcpHost) Call(ctx context.Context, payload []byte) error {
	result, err := m.host.CallTool(ctx, "echo", json.RawMessage(payload))
	if err != nil {
		return err
	}
	return checkEcho(payload, []byte(result.Result))
}

// measureMCP makes 40 × 50 = 2,000 calls of each.
func measureMCP(ctx context.Context, e effort) ([]Series, error) {
	contestants := []Contestant{&mcpDirect{}, &mcpThrough{program: e.program}, &mcpHost{}}
	return each(ctx, e.of(40), contestants, func(c Contestant) turn { return timed(c, payloadOf(smallCall), warmUp, 50) })
}
