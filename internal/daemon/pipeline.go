package daemon

import (
	"context"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/plugindev"
)

// Pipeline returns the points in order, with the plugins that are asked at each, and the plugins
// that could be connected.
func (i inspect) Pipeline(context.Context) (httpapi.Pipeline, error) {
	p := httpapi.Pipeline{Points: []httpapi.PipelinePoint{}, Connectable: []httpapi.Connectable{}}
	for _, line := range i.Host.Pipeline() {
		point := httpapi.PipelinePoint{Point: string(line.Spec.Point), Mode: string(line.Spec.Mode), Doc: line.Spec.Doc,
			Sample: plugindev.Sample(line.Spec.Point), Plugins: []httpapi.PipelineHook{}}
		for _, hk := range line.Hooks {
			point.Plugins = append(point.Plugins, httpapi.PipelineHook{Plugin: hk.Plugin, Dialect: hk.Dialect, Hook: hk.Hook,
				Priority: hk.Priority, Connected: hk.Connected, State: string(hk.State)})
		}
		p.Points = append(p.Points, point)
	}
	for _, c := range i.Host.Connectables() {
		one := httpapi.Connectable{Plugin: c.Plugin, Dialect: c.Dialect}
		for _, hk := range c.Hooks {
			points := make([]string, 0, len(hk.Points))
			for _, point := range hk.Points {
				points = append(points, string(point))
			}
			one.Hooks = append(one.Hooks, httpapi.ConnectableHook{Hook: hk.Hook, Points: points})
		}
		p.Connectable = append(p.Connectable, one)
	}
	return p, nil
}
