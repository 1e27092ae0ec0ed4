package mcp

//lint:file-ignore SA1019 Clients of the revisions before 2026-07-28 have logging, sampling and roots, and no other way to do the same.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/patchbay-dev/patchbay/adapter"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/model"
)

// A Kind says what an [Offer] is, or what has changed.
type Kind string

// The kinds of offers and changes.
const (
	Tools     Kind = "tools"
	Prompts   Kind = "prompts"
	Resources Kind = "resources"
	Templates Kind = "templates"
	Resource  Kind = "resource" // the content of one resource has changed
)

// An Offer is a prompt, a resource or a resource template of a plugin.
type Offer struct {
	Kind       Kind
	Name       string // for a resource, its address
	Plugin     string
	Definition json.RawMessage
}

// A Host is the part of Patchbay that the server needs.
type Host interface {
	Fire(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error)
	Tools() []adapter.Tool
	Offers() []Offer
	// Ask calls a method of a plugin.
	Ask(ctx context.Context, plugin, method string, params json.RawMessage) (json.RawMessage, error)
	// Watch calls f when tools or offers have changed; f returns immediately. uri is the address of
	// a resource whose content has changed.
	Watch(f func(kind Kind, uri string)) (stop func())
}

// Options configure a server.
type Options struct {
	Host    Host
	Version string
	Dir     string // the working directory of tools
	// Forbid returns why a tool that changes something must not run, or "" if it may. Nil: every
	// tool may run.
	Forbid func(ctx context.Context, t *adapter.Tool, c model.ToolCall) string
	// Observe, if not nil, is called with what happens to each call.
	Observe func(Event)
	Logger  *slog.Logger // nil discards
}

// An Event is something that happened to a call.
type Event struct {
	Session string
	Call    string
	Outcome *hook.Trace // the outcome of an event at a point; nil: the call is over
	Name    string      // of the tool
	Tool    *adapter.ToolCall
	Result  adapter.ToolResult
}

// A Server offers tools, prompts and resources of plugins. It is safe for concurrent use.
type Server struct {
	options Options
	log     *slog.Logger
	sdk     *sdk.Server

	changes chan hostChange // changes that are not handled yet
	stop    func()
	ctx     context.Context // ends with the server
	end     context.CancelFunc
	work    sync.WaitGroup

	used     atomic.Bool  // a client has sent a request
	calls    atomic.Int64 // in progress, of clients over TCP
	sessions visitors     // the sessions of clients over HTTP

	mu    sync.Mutex // protects shown, and is held while the offers change
	shown shown
}

// New returns a server with what the host offers. Close ends it.
func New(o Options) *Server {
	s := &Server{options: o, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), changes: make(chan hostChange, 64)}
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "patchbay", Title: "Patchbay", Version: o.Version}, &sdk.ServerOptions{
		Instructions:       "Tools of the plugins that are installed in Patchbay.",
		Capabilities:       capabilities(),
		CompletionHandler:  s.complete,
		SubscribeHandler:   s.subscribe,
		UnsubscribeHandler: s.unsubscribe,
		PageSize:           1000,
	})
	s.sdk.AddReceivingMiddleware(s.recoverRequest)
	s.ctx, s.end = context.WithCancel(context.Background())
	s.stop = o.Host.Watch(s.queueChange)
	s.sync(hostChange{})
	s.work.Go(func() { s.follow(s.ctx) })
	return s
}

// capabilities returns what the server can offer. A client is told only once, and plugins may be
// added later. So the result does not depend on the plugins that are there now.
func capabilities() *sdk.ServerCapabilities {
	return &sdk.ServerCapabilities{
		Tools:       &sdk.ToolCapabilities{ListChanged: true},
		Prompts:     &sdk.PromptCapabilities{ListChanged: true},
		Resources:   &sdk.ResourceCapabilities{ListChanged: true, Subscribe: true},
		Logging:     &sdk.LoggingCapabilities{},
		Completions: &sdk.CompletionCapabilities{},
	}
}

// Used reports whether a client has sent a request.
func (s *Server) Used() bool { return s.used.Load() }

// Close cancels the calls in progress and ends every session.
func (s *Server) Close() {
	s.stop()
	s.end()
	s.work.Wait()
	for session := range s.sdk.Sessions() {
		if err := session.Close(); err != nil {
			s.log.Debug("a session could not be closed", "err", err)
		}
	}
}

// mostCalls limits the calls in progress of clients over TCP. The limit of the daemon's connections
// does not limit them: one request can be a batch of calls, and with the older kind of the protocol
// a call goes on after its client has closed the connection.
const mostCalls = 256

// begin starts a call: it returns a context that also ends with the server, and the function that
// ends the call. It fails if too many calls are in progress.
func (s *Server) begin(ctx context.Context) (context.Context, func(), error) {
	var counts int64 // 1 or 0
	if overTCP(ctx) {
		counts = 1
	}
	if s.calls.Add(counts) > mostCalls && counts == 1 {
		s.calls.Add(-counts)
		return nil, nil, &jsonrpc.Error{Code: codeInternal, Message: fmt.Sprintf("too many calls at the same time: at most %d; try again later", mostCalls)}
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
		s.calls.Add(-counts)
	}, nil
}

// overTCP reports whether a request may come from another user. Those over the daemon's socket, and
// over pipes, come from the user's own programs.
func overTCP(ctx context.Context) bool {
	local, _ := ctx.Value(http.LocalAddrContextKey).(net.Addr)
	return local != nil && local.Network() == "tcp"
}

// recoverRequest turns a panic into the error of its request. The MCP library runs requests in
// goroutines of its own, where a panic would end the daemon, and it panics at some answers of
// plugins.
func (s *Server) recoverRequest(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (result sdk.Result, err error) {
		s.used.Store(true)
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("panic in a request of an MCP client", "method", excerpt.Of(method, 100), "err", excerpt.Of(fmt.Sprint(p), 300), "stack", string(debug.Stack()))
				result, err = nil, &jsonrpc.Error{Code: codeInternal, Message: "internal error: the log of Patchbay has its cause"}
			}
		}()
		return next(ctx, method, req)
	}
}

// Run serves one client over a pair of streams until its input ends, or ctx does.
func (s *Server) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	streams := newLines(in, out, s.log)
	err := s.sdk.Run(ctx, &sdk.IOTransport{Reader: streams, Writer: streams})
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil // the client, or the caller, has ended the connection
	}
	return err
}
