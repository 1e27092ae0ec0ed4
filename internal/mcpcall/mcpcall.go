// Package mcpcall carries, through the hub, what an MCP client has to do with a call that an MCP
// server answers: who asks, whom to tell how far it has come, and whom to put a question to. The
// MCP adapter puts it into a context, and the MCP dialect takes it out; everything between them
// passes the context on and knows nothing of it.
package mcpcall

import (
	"context"
	"encoding/json"
)

// The revisions of the protocol, oldest first. From the last one on there is no handshake and no
// session.
var Versions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", Modern}

// Modern is the revision from which on every request stands for itself, and Handshake the last one
// before it.
const (
	Modern    = "2026-07-28"
	Handshake = "2025-11-25"
)

// What a request of the modern revision says of itself stands in its _meta, under these names.
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
	Session      string          // tells clients apart; "": it has none, and is nobody else
	Modern       bool            // it speaks the revision without sessions
	Meta         json.RawMessage // the _meta of its request, an object; nil: none
	Capabilities json.RawMessage // what it can be asked for, an object; nil: nothing
	Inputs       json.RawMessage // its answers to what an earlier try asked for; nil: none
	State        string          // what that earlier try wants back

	Progress func(params json.RawMessage)                                                              // nil: it does not want to know
	Log      func(params json.RawMessage)                                                              // nil: likewise
	Ask      func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) // nil: it cannot be asked
}

type key struct{}

// With says on whose behalf calls in ctx are made.
func With(ctx context.Context, c *Caller) context.Context { return context.WithValue(ctx, key{}, c) }

// From is the client behind a call; nil: none.
func From(ctx context.Context) *Caller {
	c, _ := ctx.Value(key{}).(*Caller)
	return c
}
