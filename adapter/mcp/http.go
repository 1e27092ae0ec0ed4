package mcp

import (
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/patchbay-dev/patchbay/internal/mcpcall"
)

// sessionIdle is how long a session may be without a request. After that its client is assumed
// gone.
const sessionIdle = time.Hour

// mostSessions limits the sessions of clients over HTTP. There are more only while every session
// has a request in progress. The limit of connections bounds the number of requests.
const mostSessions = 1000

const sessionHeader = "Mcp-Session-Id"

// Handler serves clients over HTTP. It checks neither the host nor the origin of a request: the
// caller must do that.
//
// Both kinds of the protocol are served at one address. A request belongs to the modern kind if it
// names no session, and its headers name its method or a modern version. Every other request
// belongs to the kind with a handshake.
func (s *Server) Handler(mostBody int64) http.Handler {
	server := func(*http.Request) *sdk.Server { return s.sdk }
	options := sdk.StreamableHTTPOptions{Logger: s.log, MaxRequestBodyBytes: mostBody, SessionTimeout: sessionIdle,
		DisableLocalhostProtection: true, // the caller has checked the host, and may allow other names than localhost
		EventStore:                 newReplays(), PropagateRequestCancellation: true}
	sessions := sdk.NewStreamableHTTPHandler(server, &options)
	single := options
	single.Stateless, single.EventStore = true, nil
	stateless := sdk.NewStreamableHTTPHandler(server, &single)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(sessionHeader)
		switch {
		case isStateless(r.Header):
			stateless.ServeHTTP(w, r)
		case id != "":
			defer s.visit(id)()
			sessions.ServeHTTP(w, r)
		default:
			s.makeRoom()
			sessions.ServeHTTP(w, r)
			s.visit(w.Header().Get(sessionHeader))() // empty if no session was made
		}
	})
}

func isStateless(h http.Header) bool {
	if h.Get(sessionHeader) != "" {
		return false
	}
	return h.Get("Mcp-Method") != "" || h.Get("MCP-Protocol-Version") >= mcpcall.Modern
}

// makeRoom makes room for a new session. Clients often end without ending their session, so the
// session that has been idle for the longest time is closed. Its client, if there still is one,
// gets 404 and begins another session, as the protocol demands.
func (s *Server) makeRoom() {
	open := s.open()
	idle := s.sessions.longestIdle(open)
	if len(open) < mostSessions || idle == nil {
		return
	}
	s.sessions.forget(idle.ID()) // so that the next new session closes another one
	s.work.Go(func() {           // Close waits for calls whose clients have closed their connections
		if err := idle.Close(); err != nil {
			s.log.Debug("an idle session could not be closed", "err", err)
		}
	})
}

// open returns the open sessions of clients over HTTP, by their ids.
func (s *Server) open() map[string]*sdk.ServerSession {
	open := make(map[string]*sdk.ServerSession)
	for session := range s.sdk.Sessions() {
		if id := session.ID(); id != "" {
			open[id] = session
		}
	}
	return open
}

// visit notes that a request of a session begins. leave notes its end. Ids that clients have made
// up are not noted.
func (s *Server) visit(id string) (leave func()) {
	if leave := s.sessions.begin(id, false); leave != nil {
		return leave
	}
	if s.open()[id] == nil {
		return func() {}
	}
	return s.sessions.begin(id, true)
}

// visitors records for each session how many requests are in progress, and when the last one ended.
type visitors struct {
	mu     sync.Mutex        // protects visits and what they point to
	visits map[string]*visit // by the id of the session
}

type visit struct {
	running int
	last    time.Time // when the last request ended
}

// begin counts a request of a session until end is called. It adds the session first if isNew is
// set. Otherwise it returns nil for a session that it does not know.
func (v *visitors) begin(id string, isNew bool) (end func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	of := v.visits[id]
	if of == nil && !isNew {
		return nil
	}
	if of == nil {
		of = new(visit)
		if v.visits == nil {
			v.visits = make(map[string]*visit)
		}
		v.visits[id] = of
	}
	of.running++
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		of.running--
		of.last = time.Now()
	}
}

// longestIdle returns the open session that has been idle for the longest time, or nil if none is
// idle. It forgets sessions that are no longer open.
func (v *visitors) longestIdle(open map[string]*sdk.ServerSession) *sdk.ServerSession {
	v.mu.Lock()
	defer v.mu.Unlock()
	idle := ""
	for id, of := range v.visits {
		switch {
		case of.running > 0:
		case open[id] == nil:
			delete(v.visits, id)
		case idle == "" || of.last.Before(v.visits[idle].last):
			idle = id
		}
	}
	return open[idle]
}

// forget keeps longestIdle from returning a session again, unless the session has another request.
func (v *visitors) forget(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.visits, id)
}
