package httpapi

import (
	"context"
	"encoding/json"
)

// A Pipeline lists the points, the plugins on each, and the hooks that can be connected.
type Pipeline struct {
	Points      []PipelinePoint `json:"points" doc:"In the order of a turn."`
	Connectable []Connectable   `json:"connectable" doc:"Plugins whose hooks can be wired to points beyond their own."`
}

// A PipelinePoint is a point with its plugins, in the order in which they are asked.
type PipelinePoint struct {
	Point   string          `json:"point" doc:"Its name." example:"turn.input"`
	Mode    string          `json:"mode" enum:"chain,first,gate,notify" doc:"How plugins are asked: one after the other, until one answers, until one refuses, or all at once." example:"chain"`
	Doc     string          `json:"doc" doc:"What it is, in a line." example:"the user's message, before the agent sees it"`
	Sample  json.RawMessage `json:"sample" doc:"A payload that can be sent." example:"{\"message\":\"Hello, plugin!\"}"`
	Plugins []PipelineHook  `json:"plugins" doc:"In the order in which they are asked."`
}

// A PipelineHook is a plugin's hook at a point.
type PipelineHook struct {
	Plugin    string `json:"plugin" doc:"Who is asked." example:"shout"`
	Dialect   string `json:"dialect" doc:"Its protocol." example:"scaffold"`
	Hook      string `json:"hook" doc:"By its dialect's name." example:"preprocess_prompt"`
	Priority  int    `json:"priority" doc:"Its place in the order." example:"500"`
	Connected bool   `json:"connected" doc:"Wired by the configuration, and so can be disconnected." example:"false"`
	State     string `json:"state" doc:"Of the plugin; empty where it is not installed." example:"ready"`
}

// A Connectable is a plugin with hooks that can be wired to other points.
type Connectable struct {
	Plugin  string            `json:"plugin" doc:"The plugin." example:"notes"`
	Dialect string            `json:"dialect" doc:"Its protocol." example:"kaged"`
	Hooks   []ConnectableHook `json:"hooks" doc:"Its hooks that have a meaning elsewhere."`
}

// A ConnectableHook is one of its hooks.
type ConnectableHook struct {
	Hook   string   `json:"hook" doc:"By its dialect's name." example:"on_session_start"`
	Points []string `json:"points" doc:"Where it has a meaning." example:"[\"session.start\",\"prompt.context\"]"`
}

func (a *api) addPipeline() {
	add(a, route{method: "GET", path: "/v1/pipeline", id: "pipeline", tag: "inspect", summary: "Show the points, and who is asked at each",
		doc: "In order, with priorities and connections, a payload to try each point with, and which hooks can be connected where."},
		func(ctx context.Context, _ *struct{}) (*answer[Pipeline], error) {
			return answered(a.Inspect.Pipeline(ctx))
		})
}
