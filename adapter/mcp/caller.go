package mcp

//lint:file-ignore SA1019 Clients of the revisions before 2026-07-28 have logging, sampling and roots, and no other way to do the same.

import (
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/patchbay-dev/patchbay/internal/mcpcall"
	"github.com/patchbay-dev/patchbay/internal/wire"
)

// A request has the parts that all requests of a client share.
type request struct {
	session      *sdk.ServerSession
	meta         map[string]any
	capabilities *sdk.ClientCapabilities
	inputs       any
	state        string
}

// caller describes the client behind a request, for the MCP server behind the plugin. ctx is the
// context of the request: messages sent with it reach the client in the stream of the answer.
func caller(ctx context.Context, r request) *mcpcall.Caller {
	c := &mcpcall.Caller{Modern: isModern(r.session), State: r.state}
	if !c.Modern {
		c.Session = fmt.Sprintf("%p", r.session)
	}
	c.Meta = encoded(r.meta)
	c.Capabilities = encoded(r.capabilities)
	if given, ok := r.meta[mcpcall.MetaCapabilities]; ok {
		c.Capabilities = encoded(given)
	}
	c.Inputs = encoded(r.inputs)
	if r.meta[mcpcall.MetaProgress] != nil {
		c.Progress = func(params json.RawMessage) { progress(ctx, r.session, params) }
	}
	c.Log = func(params json.RawMessage) { log(ctx, r.session, params) }
	if !c.Modern {
		c.Ask = func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			return ask(ctx, r.session, method, params)
		}
	}
	return c
}

func isModern(s *sdk.ServerSession) bool {
	p := s.InitializeParams()
	return p == nil || p.ProtocolVersion >= mcpcall.Modern
}

// encoded returns a value as JSON, or nil if there is none.
func encoded(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil || string(text) == "null" {
		return nil
	}
	return text
}

// progress and log drop messages that are not valid. An error in sending is ignored, because it
// means that the client is gone.
func progress(ctx context.Context, s *sdk.ServerSession, params json.RawMessage) {
	var p sdk.ProgressNotificationParams
	if decode(params, &p) == nil {
		_ = s.NotifyProgress(ctx, &p)
	}
}

func log(ctx context.Context, s *sdk.ServerSession, params json.RawMessage) {
	var p sdk.LoggingMessageParams
	if decode(params, &p) == nil {
		_ = s.Log(ctx, &p) // deprecated since 2026-07-28, but older clients know it
	}
}

// ask sends a server's question to the client.
func ask(ctx context.Context, s *sdk.ServerSession, method string, params json.RawMessage) (json.RawMessage, error) {
	var answer json.RawMessage
	err := recoverPanic(func() error { // the library may panic at the question, or at the client's answer
		result, err := question(ctx, s, method, params)
		if err == nil {
			answer, err = json.Marshal(result)
		}
		return err
	})
	if err != nil {
		return nil, &wire.RPCError{Code: codeInternal, Message: err.Error()}
	}
	return answer, nil
}

func question(ctx context.Context, s *sdk.ServerSession, method string, params json.RawMessage) (any, error) {
	switch method {
	case "elicitation/create":
		var p sdk.ElicitParams
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		if err := checkQuestion(&p); err != nil {
			return nil, err
		}
		return s.Elicit(ctx, &p)
	case "sampling/createMessage":
		var p sdk.CreateMessageWithToolsParams
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		return s.CreateMessageWithTools(ctx, &p)
	case "roots/list":
		return s.ListRoots(ctx, &sdk.ListRootsParams{})
	}
	return nil, fmt.Errorf("clients are not asked for %s", method)
}

const codeInternal = -32603
