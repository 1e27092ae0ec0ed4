package kaged

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/wire"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// agentPath is the agent_path of every call: docs/protocols/kaged.md, row K70. The protocol allows
// agents below it, which this host does not have.
const agentPath = "primary"

// CallTool runs one of the plugin's tools. If the arguments do not fit its parameters_schema, or
// the plugin answers with an error, CallTool returns a result and not a Go error, so that the model
// can read it: docs/protocols/kaged.md, rows K72 and K73.
func (p *plugin) CallTool(ctx context.Context, name string, arguments json.RawMessage) (dialect.ToolResult, error) {
	tool, err := p.tool(name)
	if err != nil {
		return dialect.ToolResult{}, err
	}
	params, fault := p.toolParams(tool, arguments, p.about(ctx))
	if fault != "" {
		return unsuccessful(name, fault), nil
	}
	result, err := p.do(ctx, name, params)
	if rpc, ok := errors.AsType[*wire.RPCError](err); ok {
		r := unsuccessful(name, cmp.Or(rpc.Message, rpc.Error()))
		r.Sent = params
		return r, nil
	}
	if err != nil {
		return dialect.ToolResult{Sent: params}, err
	}
	return dialect.ToolResult{Tool: name, Success: true, Result: asText(result), Sent: params, Received: result}, nil
}

// tool returns the tool of a full name.
func (p *plugin) tool(name string) (*Tool, error) {
	for i := range p.manifest.Tools {
		if toolName(p.manifest, p.manifest.Tools[i]) == name {
			return &p.manifest.Tools[i], nil
		}
	}
	var names []string
	for _, t := range p.manifest.Tools {
		names = append(names, toolName(p.manifest, t))
	}
	return nil, fmt.Errorf("plugin %s has no tool %q, only %s", p.manifest.Name, name, orNone(names))
}

// toolParams checks the arguments and adds `_context` to them. An argument of that name is
// replaced.
func (p *plugin) toolParams(t *Tool, arguments json.RawMessage, about callContext) (params json.RawMessage, fault string) {
	o, err := object(arguments)
	if err != nil {
		return nil, "the arguments are not a JSON object"
	}
	if faults := misfits("arguments", t.Parameters.Check(o.JSON())); len(faults) > 0 {
		return nil, strings.Join(faults, "; ")
	}
	return about.beside(o), ""
}

// about returns the `_context` of a tool call.
func (p *plugin) about(ctx context.Context) callContext {
	return p.callContext(hook.Session(ctx), "")
}

// projectSession returns the session id of calls by hand in a project.
func projectSession(root string) string {
	sum := sha256.Sum256([]byte(root))
	return "project-" + hex.EncodeToString(sum[:8])
}

// callContext returns the `_context` of a call. An empty projectRoot means the host's project. An
// empty sessionID means that there is no session, as in a call by hand. All such calls in a project
// get the same id, so that a plugin which stores data by session finds it again.
func (p *plugin) callContext(sessionID, projectRoot string) callContext {
	c := callContext{
		sessionID:   cmp.Or(sessionID, p.session),
		operatorID:  p.operator,
		projectID:   p.rt.ProjectID,
		projectRoot: p.rt.ProjectRoot,
	}
	binary.NativeEndian.PutUint64(c.requestID[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(c.requestID[8:], rand.Uint64())
	if projectRoot != "" && projectRoot != c.projectRoot {
		c.projectRoot, c.projectID = projectRoot, filepath.Base(projectRoot)
		if sessionID == "" {
			c.sessionID = projectSession(projectRoot)
		}
	}
	return c
}

func unsuccessful(tool, why string) dialect.ToolResult {
	return dialect.ToolResult{Tool: tool, Result: why, Error: why}
}

// asText returns a value as text: a string unchanged, anything else serialised.
func asText(result json.RawMessage) string {
	if s, ok := rawjson.Unquote(result); ok {
		return s
	}
	return string(result)
}

// CallMethod calls a method that the manifest declares.
func (p *plugin) CallMethod(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if !slices.Contains(p.manifest.Methods, method) {
		return nil, fmt.Errorf("plugin %s declares no method %q, only %s", p.manifest.Name, method, orNone(p.manifest.Methods))
	}
	compact, err := structure(params)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %s: params: %w", p.manifest.Name, method, err)
	}
	return p.do(ctx, method, compact)
}

// do calls a tool or a method, within its timeout.
func (p *plugin) do(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	timeout := cmp.Or(p.settings.ToolTimeout, callTimeout)
	return hook.Do(ctx, p.named(method, timeout), func(ctx context.Context) (json.RawMessage, error) {
		result, err := p.call(ctx, method, params, false)
		return result.JSON, err
	})
}
