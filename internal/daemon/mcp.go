package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/adapter"
	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/adapter/mcp"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// MCPOptions say what MCP clients are offered in addition to the tools of plugins.
type MCPOptions struct {
	Builtin bool // the built-in tools
	Methods bool // the methods of kaged plugins
}

// MCP returns an MCP server with the core's plugins. The caller closes it before the core.
func (c *Core) MCP(o MCPOptions) *mcp.Server {
	return mcp.New(mcp.Options{Host: &mcpHost{Host: c.Host, core: c, options: o}, Version: pluginhost.Version, Dir: c.dir,
		Forbid: c.forbidMCP, Observe: c.observeMCP, Logger: c.log})
}

// forbidMCP returns why a tool that changes things is refused, or "". An MCP client has its own way
// to ask its user, and does so by default; over MCP Patchbay cannot ask.
func (c *Core) forbidMCP(context.Context, *adapter.Tool, model.ToolCall) string {
	switch c.Config().Chat.Approve {
	case config.ApproveAsk:
		return "not allowed: the configuration says to ask before things are changed, and over MCP there is no user to ask"
	case config.ApproveDeny:
		return "not allowed: the configuration does not allow tools that change things"
	}
	return ""
}

// observeMCP records a call of an MCP client in the same way as a turn: the call is the turn.
func (c *Core) observeMCP(e mcp.Event) {
	event := chat.Event{Type: chat.Point, Session: e.Session, Turn: e.Call, Time: time.Now(), Outcome: e.Outcome}
	if e.Outcome == nil {
		event.Type = chat.ToolFinished
		event.Tool = &chat.ToolUse{Name: e.Tool.Call.Name, Arguments: e.Tool.Call.Arguments, CallID: e.Call, Result: adapter.TextForModel(e.Result),
			Success: e.Result.Success, ResolvedBy: e.Tool.ResolvedBy, Error: e.Result.Error}
	}
	c.observer(nil)(event)
}

// mcpHost implements the host of an MCP server.
type mcpHost struct {
	*pluginhost.Host
	core    *Core
	options MCPOptions
}

// Tools returns the tools for clients, under names that MCP allows. Knobs and secrets are not
// offered as tools.
func (h *mcpHost) Tools() []adapter.Tool {
	var tools []adapter.Tool
	add := func(t adapter.Tool) {
		t.Name = mcpName(t.Name)
		if !slices.ContainsFunc(tools, func(o adapter.Tool) bool { return o.Name == t.Name }) {
			tools = append(tools, t)
		}
	}
	for _, t := range h.core.toolsOf(h.Host) {
		if t.Plugin != "" || h.options.Builtin {
			add(t)
		}
	}
	if h.options.Methods {
		for _, t := range h.methods() {
			add(t)
		}
	}
	return tools
}

// methods returns the methods of kaged plugins, each as a tool that takes any object.
func (h *mcpHost) methods() []adapter.Tool {
	var tools []adapter.Tool
	for _, p := range h.Plugins() {
		if p.Dialect != "kaged" || p.State != dialect.Ready {
			continue
		}
		for _, method := range p.Methods {
			tools = append(tools, adapter.Tool{Name: p.Name + "." + method, Plugin: p.Name,
				Description: fmt.Sprintf("The method %s of the plugin %s.", method, p.Name), Parameters: json.RawMessage(`{"type":"object"}`),
				Run: func(ctx context.Context, call adapter.Call) (adapter.ToolResult, error) {
					result, err := h.CallMethod(ctx, p.Name, method, call.Arguments)
					if err != nil {
						return adapter.ToolResult{}, err
					}
					return adapter.ToolResult{Output: string(result), Success: true}, nil
				}})
		}
	}
	return tools
}

// mcpName returns a tool's name with only the characters that MCP allows: ^[A-Za-z0-9_.-]{1,128}$.
func mcpName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("_.-", r):
			return r
		}
		return '_'
	}, name)
	return name[:min(len(name), 128)]
}

// offerKinds translates the kinds of offers from dialects to MCP.
var offerKinds = map[dialect.OfferKind]mcp.Kind{dialect.Prompt: mcp.Prompts, dialect.Resource: mcp.Resources, dialect.ResourceTemplate: mcp.Templates}

func (h *mcpHost) Offers() []mcp.Offer {
	var out []mcp.Offer
	for _, o := range h.Host.Offers() {
		out = append(out, mcp.Offer{Kind: offerKinds[o.Kind], Name: o.Name, Plugin: o.Dialect + ":" + o.Plugin, Definition: o.Definition})
	}
	return out
}

func (h *mcpHost) Ask(ctx context.Context, plugin, method string, params json.RawMessage) (json.RawMessage, error) {
	return h.CallMethod(ctx, plugin, method, params)
}

var changeKinds = map[dialect.ChangeKind]mcp.Kind{dialect.ToolsChanged: mcp.Tools, dialect.PromptsChanged: mcp.Prompts,
	dialect.ResourcesChanged: mcp.Resources, dialect.ResourceUpdated: mcp.Resource}

func (h *mcpHost) Watch(f func(kind mcp.Kind, uri string)) (stop func()) {
	return h.Host.Watch(func(c pluginhost.Change) { f(changeKinds[c.Kind], c.URI) })
}
