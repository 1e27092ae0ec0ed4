package mcp

import (
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/patchbay-dev/patchbay/internal/mcpcall"
)

// sessionIdle is how long a session may be without a request. After that its client is assumed
// gone.
const sessionIdle = time.Hour

// Handler serves clients over HTTP. It checks neither the host nor the origin of a request: the
// caller must do that.
//
// Both kinds of the protocol have one address. A request of the modern kind has its method, or its
// version, in its header, and has no session. Every other request belongs to the kind with a
// handshake.
func (s *Server) Handler(mostBody int64) http.Handler {
	server := func(*http.Request) *sdk.Server { return s.sdk }
	options := sdk.StreamableHTTPOptions{Logger: s.log, MaxRequestBodyBytes: mostBody, SessionTimeout: sessionIdle,
		DisableLocalhostProtection: true, // the caller has checked the host, and knows more names
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
