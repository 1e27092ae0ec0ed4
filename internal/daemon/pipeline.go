package daemon

import (
	"context"
	"encoding/json"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/plugindev"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// A pipeline lists the points, the plugins at each, and the hooks that can be connected.
type pipeline struct {
	Points      []pipelinePoint          `json:"points" doc:"In the order of a turn."`
	Connectable []pluginhost.Connectable `json:"connectable" doc:"Plugins whose hooks can be connected to other points."`
}

// A pipelinePoint is a point with its plugins.
type pipelinePoint struct {
	Point   hook.Point             `json:"point" doc:"Its name." example:"turn.input"`
	Mode    hook.Mode              `json:"mode" enum:"chain,first,gate,notify" doc:"How plugins are called: chain, one after another; first, until one answers; gate, until one refuses; notify, all at once." example:"chain"`
	Doc     string                 `json:"doc" doc:"A description in one line." example:"the user's message, before the agent sees it"`
	Sample  json.RawMessage        `json:"sample" doc:"A payload that can be sent." example:"{\"message\":\"Hello, plugin!\"}"`
	Plugins []pluginhost.PointHook `json:"plugins" doc:"In the order in which they are called."`
}

func (i inspect) Pipeline(context.Context) (any, error) {
	p := pipeline{Points: []pipelinePoint{}, Connectable: i.Host.Connectables()}
	for _, line := range i.Host.Pipeline() {
		spec := line.Spec
		p.Points = append(p.Points, pipelinePoint{spec.Point, spec.Mode, spec.Doc, plugindev.Sample(spec.Point), line.Hooks})
	}
	return p, nil
}
