package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/patchbay-dev/patchbay/adapter"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/mcpcall"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
	"github.com/patchbay-dev/patchbay/internal/wire"
)

// callTool takes one call of a client's through plugins and tool.
func (s *Server) callTool(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	id := sessionID(req.Session)
	asked := adapter.WithArguments(model.ToolCall{ID: "call_" + strings.ToLower(rand.Text()), Name: req.Params.Name}, req.Params.Arguments)
	ctx = hook.WithSession(ctx, id)
	callCtx := mcpcall.With(ctx, caller(ctx, request{req.Session, req.Params.GetMeta(), req.ClientCapabilities(), inputs(req.Params.InputResponses), req.Params.RequestState}))
	call := adapter.NewToolCall(s.around(id, asked.ID, req), asked)
	result, err := call.Run(callCtx)
	if err != nil {
		result = adapter.Failed("not finished: " + err.Error())
	}
	s.observe(Event{Session: id, Call: asked.ID, Name: asked.Name, Tool: call, Result: result})
	return s.answer(ctx, call, result)
}

// inputs is nothing where there are none: an empty map would be an answer.
func inputs(m sdk.InputResponseMap) any {
	if m == nil {
		return nil
	}
	return m
}

// around is what a call has around it.
func (s *Server) around(id, callID string, req *sdk.CallToolRequest) *adapter.ToolHost {
	return &adapter.ToolHost{
		Fire: func(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error) {
			out, err := s.options.Host.Fire(ctx, point, payload)
			if out != nil && len(out.Steps) > 0 {
				trace := out.Trace()
				s.observe(Event{Session: id, Call: callID, Outcome: &trace, Name: req.Params.Name})
			}
			return out, err
		},
		About:    adapter.About{SessionID: id, WorkingDir: s.options.Dir},
		Session:  session.Session{ID: id, WorkingDir: s.options.Dir},
		Tools:    s.options.Host.Tools(),
		Forbid:   s.options.Forbid,
		Progress: func() func(string) { return func(string) {} },
		Logger:   s.log,
	}
}

func (s *Server) observe(e Event) {
	if s.options.Observe != nil {
		s.options.Observe(e)
	}
}

// sessionID is the session that a client's calls belong to. One of the modern kind has none: its
// calls are those of nobody in particular.
func sessionID(ss *sdk.ServerSession) string {
	if id := ss.ID(); id != "" {
		return "mcp-" + id
	}
	return "mcp"
}

// answer is a result as MCP has it. A tool that failed is a result too; an error of the protocol is
// passed on as one.
func (s *Server) answer(ctx context.Context, call *adapter.ToolCall, r adapter.ToolResult) (*sdk.CallToolResult, error) {
	if call.Failure != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if rpc := protocolError(call.Failure); rpc != nil {
			return nil, rpc
		}
	}
	if r.Raw != nil {
		var out sdk.CallToolResult
		err := json.Unmarshal(r.Raw, &out)
		if err == nil {
			out.Meta = ours(out.Meta)
			return &out, nil
		}
		s.log.Warn("a tool's result is passed on as a text: it is not what MCP says", "tool", call.Call.Name, "err", err)
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: adapter.Told(r)}}, IsError: !r.Success}, nil
}

// ours is what a server says beside a result, less who it is: to the client we are that.
func ours(m sdk.Meta) sdk.Meta {
	delete(m, mcpcall.MetaServer)
	return m
}

// protocolError is the error that a server answered with; nil: it is of another kind.
func protocolError(err error) error {
	rpc, ok := errors.AsType[*wire.RPCError](err)
	if !ok {
		return nil
	}
	return &jsonrpc.Error{Code: int64(rpc.Code), Message: rpc.Message, Data: rpc.Data}
}

// ask makes a request of a plugin for a client.
func (s *Server) ask(ctx context.Context, plugin, method string, params any, r request) (json.RawMessage, error) {
	text, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	ctx = hook.WithSession(ctx, sessionID(r.session))
	result, err := s.options.Host.Ask(mcpcall.With(ctx, caller(ctx, r)), plugin, method, text)
	if err != nil {
		if rpc := protocolError(err); rpc != nil {
			return nil, rpc
		}
		return nil, err
	}
	return result, nil
}

// owner is whose an offer is.
func (s *Server) owner(kind Kind, name string) (string, error) {
	for _, o := range s.options.Host.Offers() {
		if o.Kind == kind && o.Name == name {
			return o.Plugin, nil
		}
	}
	return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("there is no %.200q among the %s", name, kind)}
}

func (s *Server) getPrompt(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	plugin, err := s.owner(Prompts, req.Params.Name)
	if err != nil {
		return nil, err
	}
	params := struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments,omitempty"`
	}{req.Params.Name, req.Params.Arguments}
	result, err := s.ask(ctx, plugin, "prompts/get", params, request{req.Session, req.Params.GetMeta(), req.ClientCapabilities(), inputs(req.Params.InputResponses), req.Params.RequestState})
	if err != nil {
		return nil, err
	}
	var out sdk.GetPromptResult
	err = json.Unmarshal(result, &out)
	out.Meta = ours(out.Meta)
	return &out, err
}

// uriParams names a resource.
type uriParams struct {
	URI string `json:"uri"`
}

func (s *Server) reader(plugin string) sdk.ResourceHandler {
	return func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		result, err := s.ask(ctx, plugin, "resources/read", uriParams{req.Params.URI},
			request{req.Session, req.Params.GetMeta(), req.ClientCapabilities(), inputs(req.Params.InputResponses), req.Params.RequestState})
		if err != nil {
			return nil, err
		}
		var out sdk.ReadResourceResult
		err = json.Unmarshal(result, &out)
		out.Meta = ours(out.Meta)
		return &out, err
	}
}

func (s *Server) complete(ctx context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	kind, name := Prompts, ""
	if ref := req.Params.Ref; ref != nil {
		if name = ref.Name; ref.Type == "ref/resource" {
			kind, name = Templates, ref.URI
		}
	}
	plugin, err := s.owner(kind, name)
	if err != nil {
		return nil, err
	}
	params := *req.Params
	params.Meta = nil
	result, err := s.ask(ctx, plugin, "completion/complete", &params, request{session: req.Session, meta: req.Params.GetMeta(), capabilities: req.ClientCapabilities()})
	if err != nil {
		return nil, err
	}
	var out sdk.CompleteResult
	err = json.Unmarshal(result, &out)
	out.Meta = ours(out.Meta)
	return &out, err
}

// subscribe follows a resource of a plugin's. What is no plugin's is nothing that could change.
func (s *Server) subscribe(ctx context.Context, req *sdk.SubscribeRequest) error {
	plugin, err := s.owner(Resources, req.Params.URI)
	if err != nil {
		return err
	}
	_, err = s.ask(ctx, plugin, "resources/subscribe", uriParams{req.Params.URI}, request{session: req.Session})
	return err
}

// unsubscribe leaves the plugin as it is: other clients may follow the same resource.
func (s *Server) unsubscribe(context.Context, *sdk.UnsubscribeRequest) error { return nil }
