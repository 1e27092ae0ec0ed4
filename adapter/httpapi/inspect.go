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
	Name string `path:"name" maxLength:"256" doc:"The tool's full name."`
	Body *struct {
		Arguments json.RawMessage `json:"arguments,omitempty" doc:"An object; {} where it is left out."`
		Trace     bool            `json:"trace,omitempty" doc:"Also tell what the plugin was sent and what it answered." example:"true"`
	}
}

type fire struct {
	Body struct {
		Point string          `json:"point" doc:"Such as turn.input."`
		Data  json.RawMessage `json:"data,omitempty" doc:"The payload, an object; {} where it is left out."`
		Trace bool            `json:"trace,omitempty" doc:"Also tell what each plugin was sent, what it answered and what that changed."`
	}
}

// A healthAnswer has a status of its own, for those who look at nothing else.
type healthAnswer struct {
	Status int
	Body   json.RawMessage
}

func (a *api) addInspect() {
	const tag = "inspect"
	add(a, route{method: "GET", path: "/v1/plugins", id: "list-plugins", tag: tag, summary: "List the plugins of every dialect",
		shape: []Plugin{}}, func(ctx context.Context, _ *struct{}) (*answer[json.RawMessage], error) {
		return encoded(a.Inspect.Plugins(ctx))
	})
	add(a, route{method: "GET", path: "/v1/plugins/{name}", id: "get-plugin", tag: tag, summary: "Show all there is to know about a plugin",
		doc: "What the plugin says of itself, its wiring, its config without secrets, what it may do and was refused, and how its last calls went. " +
			"A mine plugin is asked for its health, for at most five seconds.",
		shape: pluginDetail{}, errors: []int{404, 422}}, a.plugin)
	add(a, route{method: "GET", path: "/v1/latencies", id: "latencies", tag: tag, summary: "Tell how long the last calls of plugins took",
		doc: "Up to 64 calls of each plugin: hooks, tools and methods alike."}, func(ctx context.Context, _ *struct{}) (*answer[Latencies], error) {
		return answered(a.Inspect.Latencies(ctx))
	})
	add(a, route{method: "GET", path: "/v1/tools", id: "list-tools", tag: tag, summary: "List the tools that plugins offer",
		shape: []tool{}}, func(ctx context.Context, _ *struct{}) (*answer[json.RawMessage], error) {
		return encoded(a.Inspect.Tools(ctx))
	})
	a.addTraces()
	a.addPipeline()
	add(a, route{method: "GET", path: "/v1/doctor", id: "doctor", tag: tag, summary: "List everything that is wrong, and how to fix it",
		shape: doctor{}}, func(ctx context.Context, _ *struct{}) (*answer[json.RawMessage], error) {
		return encoded(a.Inspect.Doctor(ctx))
	})
	add(a, route{method: "GET", path: "/v1/health", id: "health", tag: tag, summary: "Tell whether the daemon is well",
		shape: health{}, doc: "Answers 503, with the same report, where it is not. It wants the token like every route.",
		states: []int{503}}, a.health)
}

// pluginErrors are the problems of a route that calls a plugin: there is none such, it failed, it
// is not running, or it took too long.
var pluginErrors = []int{http.StatusNotFound, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

func (a *api) addCalls() {
	const tag = "calls"
	add(a, route{method: "POST", path: "/v1/tools/{name}/call", id: "call-tool", tag: tag, summary: "Call a tool",
		doc: "A tool that ran and failed is an answer, not an error. With `trace` the answer has a `step`, shaped as those of an event, and a plugin that " +
			"crashed or took too long is an answer too: `error` says so, and the step tells when.", shape: ToolResult{}, errors: pluginErrors}, a.callTool)
	add(a, route{method: "POST", path: "/v1/fire", id: "fire", tag: tag, summary: "Fire one event by hand",
		doc: "Every enabled plugin takes part. A refusal is an answer, not an error.", shape: Outcome{}}, a.fire)
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

func (a *api) callTool(ctx context.Context, in *toolCall) (*answer[json.RawMessage], error) {
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
	return encoded(result, named(err, in.Name))
}

func (a *api) fire(ctx context.Context, in *fire) (*answer[json.RawMessage], error) {
	point := hook.Point(in.Body.Point)
	if _, ok := point.Spec(); !ok {
		return nil, &problem{http.StatusBadRequest, "Unknown point: " + quote(in.Body.Point)}
	}
	data, err := object("data", in.Body.Data)
	if err != nil {
		return nil, err
	}
	return encoded(a.Calls.Fire(ctx, point, data, in.Body.Trace))
}

// object wants a JSON object, or nothing, which is an empty one. The text has been parsed before:
// its first character tells.
func object(field string, text json.RawMessage) (json.RawMessage, error) {
	switch {
	case len(text) == 0:
		return json.RawMessage("{}"), nil
	case text[0] != '{':
		return nil, &problem{http.StatusUnprocessableEntity, "Invalid request: body." + field + ": expected object"}
	}
	return text, nil
}
