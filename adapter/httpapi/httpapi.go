package httpapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/patchbay-dev/patchbay/internal/config"
)

// Options say what is served, and to whom. The zero value serves the description of an API without
// routes, to this machine alone.
type Options struct {
	Backend Backend
	Token   config.Secret // demanded from every client but those of a unix socket; empty: none is
	Hosts   []string      // names, with or without a port, by which clients may call it beside loopback and its own address
	Version string        // of Patchbay
	Metrics http.Handler  // what /metrics answers; nil: there is no such route
	MCP     http.Handler  // what /mcp answers to MCP clients; nil: there is no such route
	Web     http.Handler  // the web pages, at every path that is not the API's; nil: a page that lists the routes
	Logger  *slog.Logger  // nil discards
	Limits  Limits
}

// Limits keep one client from harming the others. Zero fields have the defaults.
type Limits struct {
	Body      int64         // bytes of a request; 0: DefaultBody
	BodyTime  time.Duration // for a client to send its body; 0: 10 s
	Write     time.Duration // for a client to take what is written; 0: 15 s
	Heartbeat time.Duration // between the comments that keep a quiet stream open; 0: 15 s, half of what proxies commonly allow
	Streams   int           // of events and of jobs' output, at once; 0: 256
}

// DefaultBody is how large a request may be: a plugin of 20,000 lines fits.
const DefaultBody = 1 << 20

func (l Limits) withDefaults() Limits {
	l.Body = cmp.Or(l.Body, DefaultBody)
	l.BodyTime = cmp.Or(l.BodyTime, 10*time.Second)
	l.Write = cmp.Or(l.Write, 15*time.Second)
	l.Heartbeat = cmp.Or(l.Heartbeat, 15*time.Second)
	l.Streams = cmp.Or(l.Streams, 256)
	return l
}

// An api is what the routes have in common. It does not change once New has returned.
type api struct {
	Backend
	limits  Limits
	logger  *slog.Logger
	huma    huma.API
	mux     *http.ServeMux
	routes  []route       // in the order in which they were added
	streams chan struct{} // a place for each stream; see enter
}

// New returns the whole API. It starts nothing; see the package's documentation for what the
// http.Server around it has to do.
func New(o Options) (http.Handler, error) {
	a := &api{Backend: o.Backend, limits: o.Limits.withDefaults(), logger: o.Logger, mux: http.NewServeMux()}
	if a.logger == nil {
		a.logger = slog.New(slog.DiscardHandler)
	}
	a.streams = make(chan struct{}, a.limits.Streams)
	a.huma = humago.New(a.mux, newConfig(&o))
	a.addRoutes()
	if o.Metrics != nil {
		a.addMetrics(o.Metrics)
	}
	if o.MCP != nil {
		a.mux.Handle(mcpPath, o.MCP)
	}
	if err := a.addPages(o.Web == nil); err != nil {
		return nil, err
	}
	return &front{gate: newGate(o.Token, o.Hosts, a.logger), mux: a.mux, web: o.Web, limits: a.limits, logger: a.logger}, nil
}

// mcpPath is where MCP clients are served. The protocol describes itself, so the OpenAPI document
// does not.
const mcpPath = "/mcp"

// addRoutes adds those of the parts that there are.
func (a *api) addRoutes() {
	if a.Sources != nil {
		a.addSources()
	}
	if a.Features != nil {
		a.addFeatures()
	}
	if a.Sessions != nil {
		a.addSessions()
	}
	if a.Turns != nil {
		a.addTurns()
	}
	if a.Inspect != nil {
		a.addInspect()
	}
	if a.Calls != nil {
		a.addCalls()
	}
	if a.Plugins != nil {
		a.addPlugins()
	}
	if a.Events != nil {
		a.addEvents()
	}
	if a.Jobs != nil {
		a.addJobs()
	}
	if a.Hooks != nil {
		a.addHooks()
	}
	if a.Yielder != nil {
		a.addYielder()
	}
	if a.Daemon != nil {
		a.addDaemon()
	}
	if a.Configuration != nil {
		a.addConfiguration()
	}
	if a.Logs != nil {
		a.addLogs()
	}
}

// description is the OpenAPI document, encoded once: huma would encode it in the first request,
// without a lock.
func (a *api) description() ([]byte, error) {
	schemas := a.huma.OpenAPI().Components.Schemas.Map()
	for _, unused := range []string{"ErrorModel", "ErrorDetail"} { // huma's own errors, which nobody gets to see
		delete(schemas, unused)
	}
	describeAll(a.huma.OpenAPI())
	text, err := json.Marshal(a.huma.OpenAPI())
	if err != nil {
		return nil, fmt.Errorf("encode the openapi document: %w", err)
	}
	return text, nil
}
