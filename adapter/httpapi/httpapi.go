package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// Options says what is served, and to which clients. The zero value serves the description of an
// API without routes, only to this machine.
type Options struct {
	Backend Backend
	Token   config.Secret // required from every client that does not use the Unix socket; empty: not required
	Hosts   []string      // host names, with or without a port, that clients may use beside loopback and the server's own address
	Version string        // the version of Patchbay
	Metrics http.Handler  // answers /metrics; nil: there is no such route
	MCP     http.Handler  // answers MCP clients at /mcp; nil: there is no such route
	Web     http.Handler  // serves the web pages, at every path outside of the API; nil: a page that lists the routes
	Logger  *slog.Logger  // nil discards
	Limits  Limits
}

// Limits keeps one client from harming the others. Zero fields have the defaults.
type Limits struct {
	Body      int64         // bytes of a request; 0: DefaultBody
	BodyTime  time.Duration // how long a client may take to send its body; 0: 10 s
	Write     time.Duration // how long a client may take to read what is written; 0: 15 s
	Heartbeat time.Duration // the time between the comments that keep a quiet stream open; 0: 15 s, half of the usual limit of proxies
	Streams   int           // how many streams of events and of output may be open; 0: 256
}

// DefaultBody is the size limit of a request. A plugin of 20,000 lines fits.
const DefaultBody = 1 << 20

func (l Limits) withDefaults() Limits {
	l.Body = cmp.Or(l.Body, DefaultBody)
	l.BodyTime = cmp.Or(l.BodyTime, 10*time.Second)
	l.Write = cmp.Or(l.Write, 15*time.Second)
	l.Heartbeat = cmp.Or(l.Heartbeat, 15*time.Second)
	l.Streams = cmp.Or(l.Streams, 256)
	return l
}

// An api holds what the routes share. It does not change after New has returned.
type api struct {
	Backend
	limits  Limits
	logger  *slog.Logger
	huma    huma.API
	mux     *http.ServeMux
	routes  []route       // in the order in which they were added
	streams chan struct{} // has room for each stream; see enter
}

// New returns the whole API. It starts nothing. The package documentation says how to configure the
// http.Server.
func New(o Options) http.Handler {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Limits = o.Limits.withDefaults()
	mux := sync.OnceValue(func() *http.ServeMux { return newMux(&o) })
	return &front{gate: newGate(o.Token, o.Hosts, o.Logger), mux: mux, web: o.Web, limits: o.Limits, logger: o.Logger}
}

// newMux builds every route. The first request calls it, because the routes take 4 MB, which a
// daemon that only runs jobs does not need.
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

// newAPI returns the routes of the API. It also describes the two routes that are not huma's.
func newAPI(o *Options) *api {
	a := &api{Backend: o.Backend, limits: o.Limits, logger: o.Logger, mux: http.NewServeMux()}
	a.streams = make(chan struct{}, a.limits.Streams)
	a.huma = humago.New(a.mux, newConfig(o))
	a.huma.UseMiddleware(a.refuseFields)
	a.addRoutes()
	if o.Metrics != nil {
		a.describe(route{method: "GET", path: metricsPath, id: "metrics", tag: "inspect", summary: "Show metrics, in the format of Prometheus"},
			"text/plain")
	}
	a.describe(route{method: "GET", path: descriptionPath, id: "openapi", tag: "inspect", summary: "Describe this API"},
		"application/openapi+json")
	return a
}

// refuseFields refuses the fields of a body that is sent to a route without one, as huma refuses
// unknown fields of other bodies.
func (a *api) refuseFields(ctx huma.Context, next func(huma.Context)) {
	if ctx.Operation().RequestBody != nil || isRead(ctx.Method()) {
		next(ctx)
		return
	}
	text, err := io.ReadAll(ctx.BodyReader()) // front.takeBody has it in memory
	status, faults := http.StatusUnprocessableEntity, []error(nil)
	fields, parseErr := rawjson.Parse(text)
	for _, f := range fields {
		faults = append(faults, &huma.ErrorDetail{Location: "body." + f.Name, Message: "unexpected property"})
	}
	if err != nil || parseErr != nil && len(bytes.TrimSpace(text)) > 0 {
		faults = append(faults, &huma.ErrorDetail{Location: "body", Message: "expected none"})
		if !json.Valid(text) {
			status = http.StatusBadRequest
		}
	}
	if faults == nil {
		next(ctx)
		return
	}
	_ = huma.WriteErr(a.huma, ctx, status, "the body does not fit", faults...) // an error means that the client is gone
}

const (
	metricsPath     = "/metrics"
	descriptionPath = "/openapi.json"
	// mcpPath is the path for MCP clients. The OpenAPI document leaves it out, because MCP
	// describes itself.
	mcpPath = "/mcp"
)

// addRoutes adds the routes of the parts that are not nil.
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

// description returns the OpenAPI document. It builds a second set of routes and drops it, because
// other requests read the schemas of the first set at the same time. Also, a daemon that is never
// asked for the document saves the memory.
func description(o *Options) ([]byte, error) {
	a := newAPI(o)
	schemas := a.huma.OpenAPI().Components.Schemas.Map()
	for _, unused := range []string{"ErrorModel", "ErrorDetail"} { // huma's own errors, which clients never get
		delete(schemas, unused)
	}
	describeAll(a.huma.OpenAPI())
	text, err := json.Marshal(a.huma.OpenAPI())
	if err != nil {
		return nil, fmt.Errorf("encode the openapi document: %w", err)
	}
	return text, nil
}
