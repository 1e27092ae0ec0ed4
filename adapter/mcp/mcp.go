package mcp

//lint:file-ignore SA1019 Clients of the revisions before 2026-07-28 have logging, sampling and roots, and no other way for the same.

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

// A Kind says what an [Offer] is.
type Kind string

// The kinds of offers, and of news about them.
const (
	Tools     Kind = "tools"
	Prompts   Kind = "prompts"
	Resources Kind = "resources"
	Templates Kind = "templates"
	Resource  Kind = "resource" // one resource is another than it was
)

// An Offer is something that a plugin has beside its tools.
type Offer struct {
	Kind       Kind
	Name       string // of a resource its address
	Plugin     string
	Definition json.RawMessage
}

// A Host is what the server needs of Patchbay.
type Host interface {
	Fire(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error)
	Tools() []adapter.Tool
	Offers() []Offer
	// Ask calls a method of a plugin.
	Ask(ctx context.Context, plugin, method string, params json.RawMessage) (json.RawMessage, error)
	// Watch has f told when there is something else to offer; f returns at once. uri is that of a
	// resource that has changed.
	Watch(f func(kind Kind, uri string)) (stop func())
}

// Options say what is offered, and how.
type Options struct {
	Host    Host
	Version string
	Dir     string // where tools work
	// Forbid says why a tool that may change things must not run; "" where it may. nil: everything
	// may.
	Forbid func(ctx context.Context, t *adapter.Tool, c model.ToolCall) string
	// Observe is told what happens. nil: nobody.
	Observe func(Event)
	Logger  *slog.Logger // nil discards
}

// An Event is something that happened to a call.
type Event struct {
	Session string
	Call    string
	Outcome *hook.Trace // an event went through the plugins; nil: the call is over
	Name    string      // of the tool
	Tool    *adapter.ToolCall
	Result  adapter.ToolResult
}

// A Server offers what plugins have. It is safe for concurrent use.
type Server struct {
	options Options
	log     *slog.Logger
	sdk     *sdk.Server

	news chan news // what is to be looked at again
	stop func()
	ctx  context.Context // ends with the server
	end  context.CancelFunc
	work sync.WaitGroup

	mu    sync.Mutex // protects the field below; held while what is offered changes
	shown shown
}

// New makes a server of what the host has. Close ends it.
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
	s.stop = o.Host.Watch(s.tell)
	s.sync(news{})
	s.work.Go(func() { s.follow(s.ctx) })
	return s
}

// capabilities are the same whatever there is now: plugins come and go.
func capabilities() *sdk.ServerCapabilities {
	return &sdk.ServerCapabilities{
		Tools:       &sdk.ToolCapabilities{ListChanged: true},
		Prompts:     &sdk.PromptCapabilities{ListChanged: true},
		Resources:   &sdk.ResourceCapabilities{ListChanged: true, Subscribe: true},
		Logging:     &sdk.LoggingCapabilities{},
		Completions: &sdk.CompletionCapabilities{},
	}
}

// Close gives up the calls under way, and ends every session.
func (s *Server) Close() {
	s.stop()
	s.end()
	s.work.Wait()
	for session := range s.sdk.Sessions() {
		if err := session.Close(); err != nil {
			s.log.Debug("a session did not end well", "err", err)
		}
	}
}

// bound is a call's context, which ends with the server too.
func (s *Server) bound(ctx context.Context) (context.Context, context.CancelFunc) {
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
		return nil // its farewell, or ours
	}
	return err
}
