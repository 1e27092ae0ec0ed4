package mcp

import (
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/patchbay-dev/patchbay/internal/mcpcall"
)

// sessionIdle is how long a session may be without a request: its client has gone without a word.
const sessionIdle = time.Hour

// Handler serves clients over HTTP. Who is let in is for those to say who call it: it looks at
// neither names nor origins.
//
// Both kinds of the protocol have one address. A request of the modern kind names its method, or
// that version, in its header, and has no session; every other one is of the kind with a handshake.
func (s *Server) Handler(mostBody int64) http.Handler {
	server := func(*http.Request) *sdk.Server { return s.sdk }
	options := sdk.StreamableHTTPOptions{Logger: s.log, MaxRequestBodyBytes: mostBody, SessionTimeout: sessionIdle,
		DisableLocalhostProtection: true, // the gate in front has looked at the host, and knows more names
		EventStore:                 sdk.NewMemoryEventStore(nil), PropagateRequestCancellation: true}
	sessions := sdk.NewStreamableHTTPHandler(server, &options)
	single := options
	single.Stateless, single.EventStore = true, nil
	stateless := sdk.NewStreamableHTTPHandler(server, &single)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isStateless(r.Header) {
			stateless.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	})
}

func isStateless(h http.Header) bool {
	if h.Get("Mcp-Session-Id") != "" {
		return false
	}
	return h.Get("Mcp-Method") != "" || h.Get("MCP-Protocol-Version") >= mcpcall.Modern
}
