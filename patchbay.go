package patchbay

import (
	"context"
	"encoding/json"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// Version is the version of Patchbay, as plugins and users see it.
const Version = pluginhost.Version

// Errors that callers can test for with [errors.Is].
var (
	ErrClosed    = pluginhost.ErrClosed    // the host was closed
	ErrNotFound  = pluginhost.ErrNotFound  // there is no such plugin, tool or method
	ErrNoDialect = pluginhost.ErrNoDialect // Patchbay does not speak that protocol
)

// A Host holds a set of running plugins. It is safe for concurrent use.
type Host struct {
	host *pluginhost.Host
}

// Open finds plugins, starts them and returns when each is ready or has failed. Open returns no
// error if a plugin fails: [Host.Plugins] lists the plugin with the reason. ctx limits the opening,
// not the life of the host. With nil options, Open reads the user's configuration file and searches
// the default places of each protocol.
func Open(ctx context.Context, opts *Options) (*Host, error) {
	h, err := pluginhost.Open(ctx, opts.inner())
	if err != nil {
		return nil, err
	}
	return &Host{host: h}, nil
}

// Close closes all plugins at once, each in the way of its protocol, and returns when no process of
// the host is left. It may be called more than once.
func (h *Host) Close() error { return h.host.Close() }

// Fire sends one event through the plugins that hook its point. The payload is any value that
// encodes to a JSON object; nil means an empty object. A json.RawMessage is used without a copy, so
// the caller must not change it afterwards.
//
// A refusal is not an error: see the outcome's Verdict. Fire returns an error if the host is
// closed, the point does not exist or the payload is invalid; the outcome is then nil. It also
// returns an error if ctx has ended, or if a plugin failed and that aborts the event; the outcome's
// Verdict is then [hook.Deny].
func (h *Host) Fire(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error) {
	return h.host.Fire(ctx, point, payload)
}

// Wants reports whether any plugin would be called at point with this payload.
func (h *Host) Wants(point hook.Point, payload any) bool { return h.host.Wants(point, payload) }

// Alters reports whether a plugin that takes part at point can change the outcome of an event. If
// so, a program that shows text as it arrives must wait until the plugins have seen it.
func (h *Host) Alters(ctx context.Context, point hook.Point) bool { return h.host.Alters(ctx, point) }

// CallTool calls a plugin's tool by its full name. The arguments are any value that encodes to a
// JSON object, as for [Host.Fire]. If the tool ran and failed, the result has Success false.
// CallTool returns an error only if there is no result.
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

// Plugins lists every plugin that was found, including those that are not running. It calls no
// plugin.
func (h *Host) Plugins() []PluginInfo {
	found := h.host.Plugins()
	list := make([]PluginInfo, len(found))
	for i, p := range found {
		list[i] = pluginInfo(p)
	}
	return list
}

// Tools lists every tool of the plugins that are ready, sorted by name.
func (h *Host) Tools() []Tool {
	found := h.host.Tools()
	list := make([]Tool, len(found))
	for i, t := range found {
		list[i] = Tool{Name: t.Name, Plugin: t.Plugin, Dialect: t.Dialect, Description: t.Description, Parameters: t.Parameters}
	}
	return list
}

// Findings lists all known problems of the plugins, each with its fix. It calls no plugin.
func (h *Host) Findings() []Finding {
	found := h.host.Doctor()
	list := make([]Finding, len(found))
	for i, f := range found {
		list[i] = Finding{Severity: string(f.Severity), Plugin: f.Plugin, Dialect: f.Dialect, Where: f.Where, Problem: f.Problem, Fix: f.Fix}
	}
	return list
}

// Refresh searches for plugins again: it starts new ones and closes those that are gone. Events in
// progress finish with the plugins they began with.
func (h *Host) Refresh(ctx context.Context) error { return h.host.Refresh(ctx) }
