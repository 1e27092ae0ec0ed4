package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// A route is one method of one path, and its description in the OpenAPI document.
type route struct {
	method  string
	path    string
	id      string
	tag     string
	summary string
	doc     string
	shape   any   // a value of the type that the document shows for the answer; nil: the type of the answer, if the route does not write it itself
	file    *file // describes a file to save; nil: the answer is not a file
	events  bool  // the answer is, or can be, a stream of server-sent events
	states  []int // other statuses than 200 with the same answer
	errors  []int // the statuses of its own problems, beside those of all routes
}

// everyError lists the statuses of problems of every request; see gate.check and front.takeBody.
var everyError = []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusInternalServerError, http.StatusInsufficientStorage}

// bodyErrors lists the statuses of problems of requests with a body.
var bodyErrors = []int{http.StatusBadRequest, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge,
	http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity}

// An answer is the result of a route: a body of JSON.
type answer[T any] struct {
	Body T
}

// answered returns an answer, or the error.
func answered[T any](body T, err error) (*answer[T], error) {
	if err != nil {
		return nil, err
	}
	return &answer[T]{Body: body}, nil
}

// encoded returns an answer with a value of a backend. The value is encoded here, so that a value
// that cannot be encoded is an error, not an incomplete answer.
func encoded(v any, err error) (*answer[json.RawMessage], error) {
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return &answer[json.RawMessage]{Body: text}, nil
}

// add adds a route. It turns every error of the route into a problem, and logs errors that clients
// do not see.
func add[I, O any](a *api, r route, f func(context.Context, *I) (*O, error)) {
	a.routes = append(a.routes, r)
	huma.Register(a.huma, a.operation(r), func(ctx context.Context, in *I) (*O, error) {
		out, err := f(ctx, in)
		if err != nil {
			return nil, a.problem(err, r.id)
		}
		return out, nil
	})
}

// problem returns what a client gets for an error. It logs errors that clients do not see.
func (a *api) problem(err error, route string) *problem {
	p, shown := asProblem(err)
	if !shown {
		a.logger.Error("request failed", "route", route, "err", err)
	}
	return p
}

// operation describes a route to huma. The front enforces the limits of the body.
func (a *api) operation(r route) huma.Operation {
	op := huma.Operation{Method: r.method, Path: r.path, OperationID: r.id, Tags: []string{r.tag}, Summary: r.summary,
		Description: r.doc, Responses: a.problems(r), MaxBodyBytes: -1, BodyReadTimeout: -1}
	success := &huma.Response{Description: "OK", Content: make(map[string]*huma.MediaType)}
	if r.shape != nil {
		success.Content["application/json"] = &huma.MediaType{Schema: a.schema(r.shape)}
	}
	if r.file != nil {
		r.file.describe(success)
	}
	if r.events {
		success.Content["text/event-stream"] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString,
			Description: "Server-sent events; the data of each is one JSON value."}}
	}
	op.Responses["200"] = success
	for _, status := range r.states {
		op.Responses[strconv.Itoa(status)] = &huma.Response{Description: http.StatusText(status), Content: success.Content}
	}
	return op
}

func (a *api) schema(v any) *huma.Schema {
	return a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeOf(v), true, "")
}

// problems returns the error responses of a route.
func (a *api) problems(r route) map[string]*huma.Response {
	statuses := slices.Concat(everyError, r.errors)
	if !isRead(r.method) {
		statuses = append(statuses, bodyErrors...)
	}
	responses := make(map[string]*huma.Response)
	for _, s := range statuses {
		responses[strconv.Itoa(s)] = &huma.Response{Description: http.StatusText(s),
			Content: map[string]*huma.MediaType{"application/json": {Schema: a.schema(problem{})}}}
	}
	return responses
}

// tags lists the topics of the routes.
var tags = []*huma.Tag{
	{Name: "python plugins", Description: "Show, check, save, reload and delete Python plugins. These are the routes of the python protocol."},
	{Name: "features", Description: "Flags that switch parts of the daemon on and off."},
	{Name: "sessions", Description: "Conversations, their transcripts, and turns of the agent in them."},
	{Name: "inspect", Description: "The state of plugins, their logs, what they did to events, findings, health."},
	{Name: "calls", Description: "Call a tool or a method, fire an event, set a knob, restart a plugin, reload."},
	{Name: "configuration", Description: "Change the configuration of plugins, with a preview."},
	{Name: "jobs", Description: "Scheduled agents: when they run, their runs, and the output."},
	{Name: "hooks", Description: "Events of other agents, and the daemons that answer them."},
}

// schemaPrefix is the beginning of a reference to a schema.
const schemaPrefix = "#/components/schemas/"

// newConfig returns the configuration of huma. Bodies are JSON only. There are no pages of
// documentation, because they would load scripts from other servers. Answers have no links to
// schemas, because those of docs/protocols/python.md, row P50, have none.
func newConfig(o *Options) huma.Config {
	security := []map[string][]string{{"bearer": {}}, {"basic": {}}}
	if o.Token.Empty() {
		security = append(security, map[string][]string{}) // no token is required
	}
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{Title: "Patchbay", Version: o.Version,
				Description: "Plugins, sessions and events of a running Patchbay. Every error is {\"detail\": \"…\"}."},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry(schemaPrefix, o.Backend.Shapes.name),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"bearer": {Type: "http", Scheme: "bearer", Description: "The token of [server] in the configuration."},
					"basic":  {Type: "http", Scheme: "basic", Description: "The same token as the password, with any user name."},
				},
			},
			Security: security,
			Tags:     tags,
			Servers:  []*huma.Server{{URL: "/", Description: "This daemon. `patchbay serve` listens on http://127.0.0.1:8000 by default."}},
		},
		Formats:       map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat: "application/json",
		Transformers:  []huma.Transformer{plainErrors},
	}
}
