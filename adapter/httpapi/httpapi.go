package httpapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
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
func New(o Options) http.Handler {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Limits = o.Limits.withDefaults()
	mux := sync.OnceValue(func() *http.ServeMux { return newMux(&o) })
	return &front{gate: newGate(o.Token, o.Hosts, o.Logger), mux: mux, web: o.Web, limits: o.Limits, logger: o.Logger}
}

// newMux makes every route. The first request calls it: routes take 4 MB, which a daemon that only
// runs jobs does not need.
func newMux(o *Options) *http.ServeMux {
	a := newAPI(o)
	if o.Metrics != nil {
		a.mux.Handle("GET "+metricsPath, o.Metrics)
	}
	if o.MCP != nil {
		a.mux.Handle(mcpPath, o.MCP)
	}
	a.addPages(o)
	return a.mux
}

// newAPI returns the routes of the API, and the two that are not huma's in its description.
func newAPI(o *Options) *api {
	a := &api{Backend: o.Backend, limits: o.Limits, logger: o.Logger, mux: http.NewServeMux()}
	a.streams = make(chan struct{}, a.limits.Streams)
	a.huma = humago.New(a.mux, newConfig(o))
	a.addRoutes()
	if o.Metrics != nil {
		a.describe(route{method: "GET", path: metricsPath, id: "metrics", tag: "inspect", summary: "Metrics, as Prometheus reads them"},
			"text/plain")
	}
	a.describe(route{method: "GET", path: descriptionPath, id: "openapi", tag: "inspect", summary: "Describe this API"},
		"application/openapi+json")
	return a
}

const (
	metricsPath     = "/metrics"
	descriptionPath = "/openapi.json"
	// mcpPath is where MCP clients are served. The protocol describes itself, so the OpenAPI
	// document does not.
	mcpPath = "/mcp"
)

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

// description returns the OpenAPI document. It is made from routes of its own, which are dropped
// afterwards: the schemas of the routes that serve are read by other requests meanwhile, and a
// daemon that is never asked for the document saves the memory.
func description(o *Options) ([]byte, error) {
	a := newAPI(o)
	schemas := a.huma.OpenAPI().Components.Schemas.Map()
	for _, unused := range []string{"ErrorModel", "ErrorDetail"} { // huma's own errors, which no client gets
		delete(schemas, unused)
	}
	describeAll(a.huma.OpenAPI())
	text, err := json.Marshal(a.huma.OpenAPI())
	if err != nil {
		return nil, fmt.Errorf("encode the openapi document: %w", err)
	}
	return text, nil
}
