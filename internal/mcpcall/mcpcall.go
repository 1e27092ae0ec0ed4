// Package mcpcall describes the MCP client behind a call that an MCP server answers: what the
// client says about itself, and how to send it progress, log messages and questions. The MCP
// adapter puts a [Caller] into the context of the call, and the MCP dialect takes it out. All code
// in between only passes the context on.
package mcpcall

import (
	"context"
	"encoding/json"
)

// Versions lists the revisions of the protocol, oldest first. The last one has no handshake and no
// session.
var Versions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", Modern}

// Modern is the first revision without sessions: every request is independent. Handshake is the
// last revision before it.
const (
	Modern    = "2026-07-28"
	Handshake = "2025-11-25"
)

// The names of fields in the _meta of a request of the modern revision.
const (
	MetaVersion      = "io.modelcontextprotocol/protocolVersion"
	MetaClient       = "io.modelcontextprotocol/clientInfo"
	MetaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaLogLevel     = "io.modelcontextprotocol/logLevel"
	MetaServer       = "io.modelcontextprotocol/serverInfo"
	MetaProgress     = "progressToken"
)

// A Caller is the MCP client behind a call. Its functions may be called from any goroutine while
// the call runs.
type Caller struct {
	Session      string          // identifies the client; "": it has no session
	Modern       bool            // it speaks the revision without sessions
	Meta         json.RawMessage // the _meta of its request, an object; nil: none
	Capabilities json.RawMessage // what the client supports, an object; nil: nothing
	Inputs       json.RawMessage // the client's answers to the questions of an earlier try; nil: none
	State        string          // the state that the earlier try returned

	Progress func(params json.RawMessage)                                                              // nil: the client does not want it
	Log      func(params json.RawMessage)                                                              // nil: the client does not want it
	Ask      func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) // nil: the client accepts no questions
}

type key struct{}

// With returns a context for calls on behalf of the client c.
func With(ctx context.Context, c *Caller) context.Context { return context.WithValue(ctx, key{}, c) }

// From returns the client behind a call, or nil.
func From(ctx context.Context) *Caller {
	c, _ := ctx.Value(key{}).(*Caller)
	return c
}
