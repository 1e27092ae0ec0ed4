package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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

// callTool runs one tool call of a client, through the plugins and the tool.
func (s *Server) callTool(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	id := sessionID(req.Session)
	asked := adapter.WithArguments(model.ToolCall{ID: "call_" + strings.ToLower(rand.Text()), Name: req.Params.Name}, req.Params.Arguments)
	ctx = hook.WithSession(ctx, id)
	callCtx := mcpcall.With(ctx, caller(ctx, request{req.Session, req.Params.GetMeta(), req.ClientCapabilities(), inputs(req.Params.InputResponses), req.Params.RequestState}))
	call := adapter.NewToolCall(s.toolHost(id, asked.ID, req), asked)
	result, err := call.Run(callCtx)
	if err != nil {
		result = adapter.Failed("not finished: " + err.Error())
	}
	s.observe(Event{Session: id, Call: asked.ID, Name: asked.Name, Tool: call, Result: result})
	return s.answer(ctx, call, result)
}

// inputs returns the client's answers to questions of an earlier try, or nil if it sent none.
func inputs(m sdk.InputResponseMap) any {
	if m == nil {
		return nil
	}
	return m
}

// toolHost returns the host of one tool call.
func (s *Server) toolHost(id, callID string, req *sdk.CallToolRequest) *adapter.ToolHost {
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

// sessionID returns the session of Patchbay to which a client's calls belong. Clients over pipes,
// and those of the modern protocol, have no id of their own: all their calls belong to the session
// mcp.
func sessionID(ss *sdk.ServerSession) string {
	if id := ss.ID(); id != "" {
		return "mcp-" + id
	}
	return "mcp"
}

// answer returns a result in the form of MCP. A tool that failed has a result too. An error of the
// protocol is passed on as an error.
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
		err := decode(r.Raw, &out)
		if err == nil {
			err = checkQuestions(out.InputRequests)
		}
		if err == nil {
			out.Meta = withoutServerName(out.Meta)
			if r.Pending { // plugins have not seen this content
				out.Content, out.StructuredContent = nil, nil
			}
			return &out, nil
		}
		if r.Pending {
			return nil, fmt.Errorf("the questions of tool %s are not valid: %w", call.Call.Name, err)
		}
		s.log.Warn("a tool's result is not valid MCP, and is passed on as text", "tool", call.Call.Name, "err", err)
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: adapter.TextForModel(r)}}, IsError: !r.Success}, nil
}

// withoutServerName removes the server's name from the metadata of a result: to the client we are
// the server.
func withoutServerName(m sdk.Meta) sdk.Meta {
	delete(m, mcpcall.MetaServer)
	return m
}

// protocolError returns the error that a server answered with, or nil if err is another error.
func protocolError(err error) error {
	rpc, ok := errors.AsType[*wire.RPCError](err)
	if !ok {
		return nil
	}
	return &jsonrpc.Error{Code: int64(rpc.Code), Message: rpc.Message, Data: rpc.Data}
}

// ask sends a client's request to a plugin.
func (s *Server) ask(ctx context.Context, plugin, method string, params any, r request) (json.RawMessage, error) {
	text, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
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

// owner returns the plugin that has an offer.
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
	if err := errors.Join(decode(result, &out), checkQuestions(out.InputRequests)); err != nil {
		return nil, err
	}
	out.Meta = withoutServerName(out.Meta)
	return &out, nil
}

// uriParams identifies a resource.
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
		if err := errors.Join(decode(result, &out), checkQuestions(out.InputRequests)); err != nil {
			return nil, err
		}
		if slices.Contains(out.Contents, nil) {
			return nil, fmt.Errorf("plugin %s answered with a content that is null", plugin)
		}
		out.Meta = withoutServerName(out.Meta)
		return &out, nil
	}
}

// decode reads a plugin's answer. The types of the MCP library panic at some invalid answers;
// decode returns an error.
func decode(result json.RawMessage, out any) error {
	return recoverPanic(func() error { return json.Unmarshal(result, out) })
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
	if err := decode(result, &out); err != nil {
		return nil, err
	}
	out.Meta = withoutServerName(out.Meta)
	return &out, nil
}

// subscribe asks the plugin to report changes of a resource. It fails if no plugin has the
// resource.
func (s *Server) subscribe(ctx context.Context, req *sdk.SubscribeRequest) error {
	plugin, err := s.owner(Resources, req.Params.URI)
	if err != nil {
		return err
	}
	_, err = s.ask(ctx, plugin, "resources/subscribe", uriParams{req.Params.URI}, request{session: req.Session})
	return err
}

// unsubscribe does not tell the plugin, because other clients may follow the same resource.
func (s *Server) unsubscribe(context.Context, *sdk.UnsubscribeRequest) error { return nil }
