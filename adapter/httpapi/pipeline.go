package httpapi

import (
	"context"
	"encoding/json"
)

// A Pipeline lists the points, the plugins on each, and the hooks that can be connected.
type Pipeline struct {
	Points      []PipelinePoint `json:"points" doc:"In the order of a turn."`
	Connectable []Connectable   `json:"connectable" doc:"Plugins whose hooks can be connected to other points."`
}

// A PipelinePoint is a point with its plugins, in the order in which they are called.
type PipelinePoint struct {
	Point   string          `json:"point" doc:"Its name." example:"turn.input"`
	Mode    string          `json:"mode" enum:"chain,first,gate,notify" doc:"How plugins are called: chain, one after another; first, until one answers; gate, until one refuses; notify, all at once." example:"chain"`
	Doc     string          `json:"doc" doc:"A description in one line." example:"the user's message, before the agent sees it"`
	Sample  json.RawMessage `json:"sample" doc:"A payload that can be sent." example:"{\"message\":\"Hello, plugin!\"}"`
	Plugins []PipelineHook  `json:"plugins" doc:"In the order in which they are called."`
}

// A PipelineHook is a plugin's hook at a point.
type PipelineHook struct {
	Plugin    string `json:"plugin" doc:"The plugin." example:"shout"`
	Dialect   string `json:"dialect" doc:"Its protocol." example:"scaffold"`
	Hook      string `json:"hook" doc:"The hook, by the name in its dialect." example:"preprocess_prompt"`
	Priority  int    `json:"priority" doc:"Its place in the order." example:"500"`
	Connected bool   `json:"connected" doc:"Connected by the configuration, so it can be disconnected." example:"false"`
	State     string `json:"state" doc:"The state of the plugin; empty if it is not installed." example:"ready"`
}

// A Connectable is a plugin with hooks that can be connected to other points.
type Connectable struct {
	Plugin  string            `json:"plugin" doc:"The plugin." example:"notes"`
	Dialect string            `json:"dialect" doc:"Its protocol." example:"kaged"`
	Hooks   []ConnectableHook `json:"hooks" doc:"Its hooks that can be connected to other points."`
}

// A ConnectableHook is a hook of a Connectable.
type ConnectableHook struct {
	Hook   string   `json:"hook" doc:"The hook, by the name in its dialect." example:"on_session_start"`
	Points []string `json:"points" doc:"The points to which it can be connected." example:"[\"session.start\",\"prompt.context\"]"`
}

func (a *api) addPipeline() {
	add(a, route{method: "GET", path: "/v1/pipeline", id: "pipeline", tag: "inspect", summary: "Show the points, and the plugins at each",
		doc: "In order, with priorities and connections, a sample payload for each point, and the hooks that can be connected to other points."},
		func(ctx context.Context, _ *struct{}) (*answer[Pipeline], error) {
			return answered(a.Inspect.Pipeline(ctx))
		})
}
