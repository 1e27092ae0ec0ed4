package scaffold

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/wire"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A plugin is a running scaffold plugin.
type plugin struct {
	launch   *launch
	manifest *manifest            // of the first handshake; a restart must give the same name
	kept     *proc.Kept[*session] // the current process
	remarks  dialect.Remarks
}

// Info returns what the plugin declared.
func (p *plugin) Info() dialect.Info { return p.manifest.Info }

// Hooks returns the hooks that the plugin wants, at their own points.
func (p *plugin) Hooks() []hook.Hook {
	var hooks []hook.Hook
	for _, name := range p.manifest.Hooks {
		hooks = append(hooks, p.hookOf(translationOf(name)))
	}
	return hooks
}

// Connect returns one of the plugin's hooks at another point.
func (p *plugin) Connect(name string, point hook.Point) (hook.Hook, error) {
	if !slices.Contains(p.manifest.Hooks, name) {
		return hook.Hook{}, p.manifest.noHook(name)
	}
	t, err := connection(name, point)
	if err != nil {
		return hook.Hook{}, err
	}
	return p.hookOf(t), nil
}

func (p *plugin) hookOf(t *translation) hook.Hook {
	method := methodHook + t.name
	return hook.Hook{Name: t.name, Point: t.point, Timeout: replyTimeout,
		Call: func(ctx context.Context, ev *hook.Event) (hook.Reply, error) {
			params := t.params(ev)
			result, err := p.ask(ctx, method, params)
			if err != nil {
				return hook.Reply{Sent: params}, err
			}
			reply, err := t.reply(ev, result)
			reply.Sent = params
			p.remarks.Warn(p.launch.rt.Log, "hook", t.name, reply.Notes)
			return reply, err
		}}
}

// CallTool runs one of the plugin's tools: docs/protocols/scaffold.md, row S54.
func (p *plugin) CallTool(ctx context.Context, name string, arguments json.RawMessage) (dialect.ToolResult, error) {
	params := hook.Object{
		{Name: "name", Value: rawjson.String(p.manifest.toolNames[name])},
		{Name: "arguments", Value: arguments},
	}
	sent := params.JSON()
	result, err := p.ask(ctx, methodExecute, sent)
	if rpc, ok := errors.AsType[*wire.RPCError](err); ok {
		return dialect.ToolResult{Tool: name, Result: rpc.Message, Error: rpc.Message, Sent: sent}, nil
	}
	if err != nil {
		return dialect.ToolResult{Sent: sent}, err
	}
	r, err := toolResult(name, result)
	r.Sent, r.Received = sent, result.JSON
	if err == nil {
		p.remarks.Warn(p.launch.rt.Log, "tool", name, toolRemarks(result.Fields), "answer", excerpt.Of(result.JSON, maxWarning))
	}
	return r, err
}

func toolResult(name string, result wire.Result) (dialect.ToolResult, error) {
	if err := dialect.Unambiguous(result); err != nil {
		return dialect.ToolResult{}, err
	}
	o := result.Fields
	if o == nil {
		return dialect.ToolResult{}, hook.Failure(hook.Garbled, fmt.Errorf(`the tool's answer is not an object such as {"success":true,"result":"…"}: %.80q`, result.JSON))
	}
	r := dialect.ToolResult{Tool: name, Success: string(o.Get("success")) != "false"}
	r.Result = dialect.Plain(o.Get("result"))
	if !r.Success {
		r.Error = cmp.Or(r.Result, "the tool gave no reason")
	}
	return r, nil
}

// ask sends one request to the current process.
func (p *plugin) ask(ctx context.Context, method string, params json.RawMessage) (wire.Result, error) {
	s, err := p.kept.Get()
	if err != nil {
		return wire.Result{}, hook.Failure(hook.Unavailable, err)
	}
	result, err := s.conn.Ask(ctx, method, params)
	if err == nil {
		return result, nil
	}
	err = dialect.CallFailure(err, s.process)
	if errors.Is(err, hook.Crash) {
		s.kill() // the process may still run without its pipe, and is useless then
	}
	return wire.Result{}, err
}

// Status returns the state of the process.
func (p *plugin) Status() dialect.Status {
	return dialect.KeptStatus(p.kept)
}
