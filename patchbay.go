package patchbay

import (
	"context"
	"encoding/json"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// Version is what Patchbay tells plugins and users it is.
const Version = pluginhost.Version

// Errors to look for with [errors.Is].
var (
	ErrClosed    = pluginhost.ErrClosed    // the host was closed
	ErrNotFound  = pluginhost.ErrNotFound  // there is no such plugin, tool or method
	ErrNoDialect = pluginhost.ErrNoDialect // Patchbay does not speak that protocol
)

// A Host is a set of running plugins. It is safe for concurrent use.
type Host struct {
	host *pluginhost.Host
}

// Open finds plugins, starts them and returns when all are ready or have failed. A plugin that
// fails is no error: [Host.Plugins] has it, with the reason. The context bounds the opening, not
// the host's life. Nil options read the user's configuration file and search the places where
// plugins live.
func Open(ctx context.Context, opts *Options) (*Host, error) {
	h, err := pluginhost.Open(ctx, opts.inner())
	if err != nil {
		return nil, err
	}
	return &Host{host: h}, nil
}

// Close ends every plugin in its protocol's way, all at once, and returns when no process of the
// host is left. It may be called more than once.
func (h *Host) Close() error { return h.host.Close() }

// Fire takes one event through the plugins that hook its point. The payload is anything that
// encodes to a JSON object. A json.RawMessage passes through, and is not to be changed afterwards.
// Nil is an empty object.
//
// A refusal is data, not an error: look at the outcome's Verdict. The error is not nil where the
// point does not exist, the payload is no object, the context ended, or a plugin failed whose
// failure aborts the event. The verdict is then [hook.Deny], so that a caller who only looks at the
// verdict stays safe.
func (h *Host) Fire(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error) {
	return h.host.Fire(ctx, point, payload)
}

// Wants tells whether any plugin would be asked at point with this payload.
func (h *Host) Wants(point hook.Point, payload any) bool { return h.host.Wants(point, payload) }

// Alters tells whether a plugin takes part at point that can change what becomes of the event. A
// program that shows things as they come must hold back what such a plugin is still to see.
func (h *Host) Alters(ctx context.Context, point hook.Point) bool { return h.host.Alters(ctx, point) }

// CallTool calls a plugin's tool by its full name. The arguments are anything that encodes to a
// JSON object, as for [Host.Fire]. A tool that ran and failed is a result with Success false; the
// error is for calls that had no answer.
func (h *Host) CallTool(ctx context.Context, name string, args any) (*ToolResult, error) {
	result, err := h.host.CallTool(ctx, name, args)
	if err != nil {
		return nil, err
	}
	return &ToolResult{Tool: result.Tool, Success: result.Success, Result: result.Result, Error: result.Error}, nil
}

// CallMethod calls one of a plugin's own JSON-RPC methods.
func (h *Host) CallMethod(ctx context.Context, plugin, method string, params any) (json.RawMessage, error) {
	return h.host.CallMethod(ctx, plugin, method, params)
}

// Plugins lists every plugin that was found, also those that do not run. It asks no plugin for
// anything.
func (h *Host) Plugins() []PluginInfo {
	found := h.host.Plugins()
	list := make([]PluginInfo, len(found))
	for i, p := range found {
		list[i] = pluginInfo(p)
	}
	return list
}

// Tools lists every tool of the plugins that are ready, by name.
func (h *Host) Tools() []Tool {
	found := h.host.Tools()
	list := make([]Tool, len(found))
	for i, t := range found {
		list[i] = Tool{Name: t.Name, Plugin: t.Plugin, Dialect: t.Dialect, Description: t.Description, Parameters: t.Parameters}
	}
	return list
}

// Findings lists everything that is known to be wrong with the plugins, and how to fix it. It asks
// no plugin for anything.
func (h *Host) Findings() []Finding {
	found := h.host.Doctor()
	list := make([]Finding, len(found))
	for i, f := range found {
		list[i] = Finding{Severity: string(f.Severity), Plugin: f.Plugin, Dialect: f.Dialect, Where: f.Where, Problem: f.Problem, Fix: f.Fix}
	}
	return list
}

// Refresh looks for plugins again: new ones are started, and those that are gone are closed. Events
// under way come to their end with the plugins they began with.
func (h *Host) Refresh(ctx context.Context) error { return h.host.Refresh(ctx) }
