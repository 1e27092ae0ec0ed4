package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/patchbay-dev/patchbay/hook"
)

type pluginName struct {
	Name string `path:"name" maxLength:"256" doc:"The plugin's name, of any dialect."`
}

type toolCall struct {
	Name string `path:"name" maxLength:"256" doc:"The tool's full name." example:"plugin_words_count"`
	Body *struct {
		Arguments json.RawMessage `json:"arguments,omitempty" doc:"An object; the default is {}." example:"{\"text\":\"to be\"}"`
		Trace     bool            `json:"trace,omitempty" doc:"Also answer with what the plugin was sent and what it answered." example:"true"`
	}
}

type fire struct {
	Body struct {
		Point string          `json:"point" doc:"The point, such as turn.input." example:"turn.input"`
		Data  json.RawMessage `json:"data,omitempty" doc:"The payload, an object; the default is {}." example:"{\"message\":\"hello\"}"`
		Trace bool            `json:"trace,omitempty" doc:"Also answer with what each plugin was sent, what it answered and what that changed." example:"true"`
	}
}

// A healthAnswer sets the HTTP status, for clients that look at nothing else.
type healthAnswer struct {
	Status int
	Body   json.RawMessage
}

func (a *api) addInspect() {
	const tag = "inspect"
	add(a, route{method: "GET", path: "/v1/plugins", id: "list-plugins", tag: tag, summary: "List the plugins of every dialect",
		shape: a.Shapes.Plugins}, func(ctx context.Context, _ *struct{}) (*answer[json.RawMessage], error) {
		return encoded(a.Inspect.Plugins(ctx))
	})
	add(a, route{method: "GET", path: "/v1/plugins/{name}", id: "get-plugin", tag: tag, summary: "Show everything about a plugin",
		doc: "What the plugin declares, its wiring, its config without secrets, what it may do and was refused, and how its last calls went. " +
			"A mine plugin is asked for its health, for at most five seconds.",
		shape: a.Shapes.Plugin, errors: []int{404, 422}}, a.plugin)
	add(a, route{method: "GET", path: "/v1/latencies", id: "latencies", tag: tag, summary: "Show how long the last calls of plugins took",
		doc: "Up to 64 calls of each plugin: hooks, tools and methods."}, func(ctx context.Context, _ *struct{}) (*answer[Latencies], error) {
		return answered(a.Inspect.Latencies(ctx))
	})
	add(a, route{method: "GET", path: "/v1/tools", id: "list-tools", tag: tag, summary: "List the tools that plugins offer",
		shape: a.Shapes.Tools}, func(ctx context.Context, _ *struct{}) (*answer[json.RawMessage], error) {
		return encoded(a.Inspect.Tools(ctx))
	})
	a.addTraces()
	add(a, route{method: "GET", path: "/v1/pipeline", id: "pipeline", tag: tag, summary: "Show the points, and the plugins at each",
		doc:   "In order, with priorities and connections, a sample payload for each point, and the hooks that can be connected to other points.",
		shape: a.Shapes.Pipeline}, func(ctx context.Context, _ *struct{}) (*answer[json.RawMessage], error) {
		return encoded(a.Inspect.Pipeline(ctx))
	})
	add(a, route{method: "GET", path: "/v1/doctor", id: "doctor", tag: tag, summary: "List everything that is wrong, and how to fix it",
		shape: a.Shapes.Doctor}, func(ctx context.Context, _ *struct{}) (*answer[json.RawMessage], error) {
		return encoded(a.Inspect.Doctor(ctx))
	})
	add(a, route{method: "GET", path: "/v1/health", id: "health", tag: tag, summary: "Show whether the daemon is healthy",
		shape: a.Shapes.Health, doc: "Answers 503 with the same report if it is not. Like every route, it needs the token.",
		states: []int{503}}, a.health)
}

// pluginErrors lists the statuses of a route that calls a plugin: the plugin does not exist, fails,
// does not run, or takes too long.
var pluginErrors = []int{http.StatusNotFound, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

func (a *api) addCalls() {
	const tag = "calls"
	add(a, route{method: "POST", path: "/v1/tools/{name}/call", id: "call-tool", tag: tag, summary: "Call a tool",
		doc: "A tool that ran and failed is an answer, not an error. With `trace` the answer has a `step` like that of an event, and a plugin that " +
			"crashed or took too long is an answer too: `error` says so, and the step says when.", errors: pluginErrors}, a.callTool)
	add(a, route{method: "POST", path: "/v1/fire", id: "fire", tag: tag, summary: "Fire one event by hand",
		doc: "Every enabled plugin takes part. A refusal is an answer, not an error."}, a.fire)
}

func (a *api) plugin(ctx context.Context, in *pluginName) (*answer[json.RawMessage], error) {
	p, err := a.Inspect.Plugin(ctx, in.Name)
	return encoded(p, named(err, in.Name))
}

func (a *api) health(ctx context.Context, _ *struct{}) (*healthAnswer, error) {
	report, ok := a.Inspect.Health(ctx)
	text, err := encoded(report, nil)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return &healthAnswer{http.StatusServiceUnavailable, text.Body}, nil
	}
	return &healthAnswer{http.StatusOK, text.Body}, nil
}

func (a *api) callTool(ctx context.Context, in *toolCall) (*answer[ToolResult], error) {
	var arguments json.RawMessage
	var trace bool
	if in.Body != nil {
		arguments, trace = in.Body.Arguments, in.Body.Trace
	}
	arguments, err := object("arguments", arguments)
	if err != nil {
		return nil, err
	}
	result, err := a.Calls.CallTool(ctx, in.Name, arguments, trace)
	return answered(result, named(err, in.Name))
}

func (a *api) fire(ctx context.Context, in *fire) (*answer[Outcome], error) {
	point := hook.Point(in.Body.Point)
	if _, ok := point.Spec(); !ok {
		return nil, &problem{http.StatusBadRequest, "Unknown point: " + quote(in.Body.Point)}
	}
	data, err := object("data", in.Body.Data)
	if err != nil {
		return nil, err
	}
	return answered(a.Calls.Fire(ctx, point, data, in.Body.Trace))
}

// object returns a JSON object, or an empty one if text is empty. The text is valid JSON, so its
// first character is enough to check.
func object(field string, text json.RawMessage) (json.RawMessage, error) {
	switch {
	case len(text) == 0:
		return json.RawMessage("{}"), nil
	case text[0] != '{':
		return nil, &problem{http.StatusUnprocessableEntity, "Invalid request: body." + field + ": expected object"}
	}
	return text, nil
}
