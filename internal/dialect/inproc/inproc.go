package inproc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// Name is the dialect's name.
const Name = "go"

// A Plugin consists of functions. All of them must be safe for concurrent use.
type Plugin struct {
	Name        string
	Description string
	Priority    int // 0: hook.DefaultPriority
	Hooks       map[hook.Point]func(ctx context.Context, ev *hook.Event) (hook.Reply, error)
	Tools       []Tool
}

// A Tool is a function that a model can call.
type Tool struct {
	Name        string // without the plugin's name
	Description string
	Parameters  json.RawMessage // JSON Schema of an object; nil: any object
	Call        func(ctx context.Context, arguments json.RawMessage) (string, error)
}

// Found describes the plugin as Find of another dialect would.
func (p Plugin) Found() dialect.Found {
	info := p.info()
	f := dialect.Found{Dialect: Name, Name: p.Name, Place: p.Name, Path: Name + ":" + p.Name, Info: &info, Manifest: p}
	if err := p.check(); err != nil {
		f.State, f.Err = dialect.Broken, err
	}
	return f
}

func (p Plugin) check() error {
	if p.Name == "" || strings.ContainsAny(p.Name, " /:") {
		return fmt.Errorf("%q is not a valid plugin name: use letters, digits, - and _", p.Name)
	}
	for point, f := range p.Hooks {
		if f == nil {
			return fmt.Errorf("its hook at %s has no function", point)
		}
	}
	for _, t := range p.Tools {
		if t.Name == "" || t.Call == nil {
			return errors.New("each of its tools needs Name and Call")
		}
	}
	return nil
}

func (p Plugin) info() dialect.Info {
	info := dialect.Info{Name: p.Name, Description: p.Description, Priority: cmp.Or(p.Priority, hook.DefaultPriority)}
	for _, point := range slices.Sorted(maps.Keys(p.Hooks)) {
		info.Hooks = append(info.Hooks, string(point))
	}
	for _, t := range p.Tools {
		info.Tools = append(info.Tools, dialect.Tool{Name: p.fullName(t), Plugin: p.Name, Dialect: Name, Description: t.Description,
			Parameters: orAnyObject(t.Parameters)})
	}
	return info
}

func (p Plugin) fullName(t Tool) string { return "plugin_" + p.Name + "_" + t.Name }

// orAnyObject returns a schema, or one that allows any object if there is none.
func orAnyObject(schema json.RawMessage) json.RawMessage {
	if schema == nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	return schema
}

// A Dialect opens plugins that are Go functions.
type Dialect struct{}

// Name implements [dialect.Dialect].
func (Dialect) Name() string { return Name }

// Folders returns none: these plugins are not on disk.
func (Dialect) Folders(dialect.Env) []dialect.Folder { return nil }

// Points returns all points.
func (Dialect) Points() []hook.Point {
	var points []hook.Point
	for _, s := range hook.Points() {
		points = append(points, s.Point)
	}
	return points
}

// Find returns none: the program passes its plugins to the host.
func (Dialect) Find(dialect.Env) []dialect.Found { return nil }

// At accepts no path: these plugins are not on disk.
func (Dialect) At(string, dialect.Env) (dialect.Found, bool) { return dialect.Found{}, false }

// Open starts nothing.
func (Dialect) Open(_ context.Context, f dialect.Found, _ dialect.Settings, _ *dialect.Runtime) (dialect.Plugin, error) {
	return &plugin{f.Manifest.(Plugin)}, nil
}

// A plugin is an opened Plugin.
type plugin struct{ Plugin }

func (p *plugin) Info() dialect.Info { return p.info() }

func (p *plugin) Status() dialect.Status { return dialect.Status{Health: "ok"} }

func (p *plugin) Close(context.Context) error { return nil }

func (p *plugin) Hooks() []hook.Hook {
	var hooks []hook.Hook
	for point, f := range p.Plugin.Hooks {
		hooks = append(hooks, hook.Hook{Name: string(point), Point: point, Call: guarded(f)})
	}
	return hooks
}

// Connect returns a hook at another point. name is the hook's own point.
func (p *plugin) Connect(name string, at hook.Point) (hook.Hook, error) {
	f := p.Plugin.Hooks[hook.Point(name)]
	if f == nil {
		return hook.Hook{}, fmt.Errorf("plugin %s has no hook %q", p.Name, name)
	}
	return hook.Hook{Name: name, Point: at, Call: guarded(f)}, nil
}

// guarded turns a panic into a failure of the call, and records payload and reply for the trace.
func guarded(f func(context.Context, *hook.Event) (hook.Reply, error)) func(context.Context, *hook.Event) (hook.Reply, error) {
	return func(ctx context.Context, ev *hook.Event) (reply hook.Reply, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = hook.Failure(hook.Crash, fmt.Errorf("panic: %v", p))
			}
		}()
		reply, err = f(ctx, ev)
		reply.Sent = ev.Payload.JSON()
		if reply.Set != nil {
			reply.Received = reply.Set.JSON()
		}
		return reply, err
	}
}

func (p *plugin) CallTool(ctx context.Context, name string, arguments json.RawMessage) (result dialect.ToolResult, err error) {
	for _, t := range p.Tools {
		if p.fullName(t) != name {
			continue
		}
		defer func() {
			if r := recover(); r != nil {
				err = hook.Failure(hook.Crash, fmt.Errorf("panic: %v", r))
			}
		}()
		text, err := t.Call(ctx, arguments)
		if ctx.Err() != nil {
			return dialect.ToolResult{}, ctx.Err()
		}
		if err != nil {
			return dialect.ToolResult{Tool: name, Error: err.Error()}, nil
		}
		return dialect.ToolResult{Tool: name, Success: true, Result: text}, nil
	}
	return dialect.ToolResult{}, fmt.Errorf("plugin %s has no tool %s", p.Name, name)
}
