package mcp

//lint:file-ignore SA1019 Clients of the revisions before 2026-07-28 have logging, sampling and roots, and no other way to do the same.

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/patchbay-dev/patchbay/adapter"
	"github.com/patchbay-dev/patchbay/hook"
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

	news chan news // changes that are not handled yet
	stop func()
	ctx  context.Context // ends with the server
	end  context.CancelFunc
	work sync.WaitGroup

	mu    sync.Mutex // protects shown, and is held while the offers change
	shown shown
}

// New returns a server with what the host offers. Close ends it.
func New(o Options) *Server {
	s := &Server{options: o, log: o.Logger, news: make(chan news, 64)}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "patchbay", Title: "Patchbay", Version: o.Version}, &sdk.ServerOptions{
		Instructions:       "Tools of the plugins that are installed in Patchbay.",
		Capabilities:       capabilities(),
		CompletionHandler:  s.complete,
		SubscribeHandler:   s.subscribe,
		UnsubscribeHandler: s.unsubscribe,
		PageSize:           1000,
	})
	s.ctx, s.end = context.WithCancel(context.Background())
	s.stop = o.Host.Watch(s.queueChange)
	s.sync(news{})
	s.work.Go(func() { s.follow(s.ctx) })
	return s
}

// capabilities are fixed, because plugins may be added at any time.
func capabilities() *sdk.ServerCapabilities {
	return &sdk.ServerCapabilities{
		Tools:       &sdk.ToolCapabilities{ListChanged: true},
		Prompts:     &sdk.PromptCapabilities{ListChanged: true},
		Resources:   &sdk.ResourceCapabilities{ListChanged: true, Subscribe: true},
		Logging:     &sdk.LoggingCapabilities{},
		Completions: &sdk.CompletionCapabilities{},
	}
}

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

// callContext returns a context for a call, which also ends with the server.
func (s *Server) callContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// Run serves one client over a pair of streams until its input ends, or ctx does.
func (s *Server) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	streams := newLines(in, out)
	err := s.sdk.Run(ctx, &sdk.IOTransport{Reader: streams, Writer: streams})
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil // the client, or the caller, has ended the connection
	}
	return err
}
