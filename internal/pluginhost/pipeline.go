package pluginhost

import (
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// A PointLine is a point and its hooks, in the order in which they are called.
type PointLine struct {
	Spec  hook.Spec
	Hooks []PointHook
}

// A PointHook is a plugin's hook at a point.
type PointHook struct {
	Plugin    string        `json:"plugin" doc:"The plugin." example:"shout"`
	Dialect   string        `json:"dialect" doc:"Its protocol." example:"scaffold"`
	Hook      string        `json:"hook" doc:"The hook, by the name in its dialect." example:"post_user_input"`
	Priority  int           `json:"priority" doc:"Its place in the order." example:"500"`
	Connected bool          `json:"connected" doc:"Connected by the configuration, so it can be disconnected." example:"false"`
	State     dialect.State `json:"state" doc:"The state of the plugin; empty if it is not installed." example:"ready"`
}

// Pipeline lists all built-in points in their order, with the hooks at each.
func (h *Host) Pipeline() []PointLine {
	states := make(map[*hook.Counters]dialect.State)
	for _, e := range h.roster().entries {
		states[&e.tally.Counters] = e.state
	}
	var lines []PointLine
	for _, spec := range hook.Points() {
		line := PointLine{Spec: spec, Hooks: []PointHook{}}
		for _, hk := range h.bus.Hooks(spec.Point) {
			line.Hooks = append(line.Hooks, PointHook{hk.Plugin, hk.Dialect, hk.Name, hk.Priority, hk.Connected, states[hk.Counters]})
		}
		lines = append(lines, line)
	}
	return lines
}

// A Connectable is a plugin whose hooks can be connected to other points than their own.
type Connectable struct {
	Plugin  string            `json:"plugin" doc:"The plugin." example:"notes"`
	Dialect string            `json:"dialect" doc:"Its protocol." example:"kaged"`
	Hooks   []ConnectableHook `json:"hooks" doc:"Its hooks that can be connected to other points."`
}

// A ConnectableHook is one hook, and the points to which it can be connected.
type ConnectableHook struct {
	Hook   string       `json:"hook" doc:"The hook, by the name in its dialect." example:"on_session_start"`
	Points []hook.Point `json:"points" doc:"The points to which it can be connected." example:"[\"session.start\",\"prompt.context\"]"`
}

// Connectables lists the running plugins that can be connected.
func (h *Host) Connectables() []Connectable {
	list := []Connectable{}
	for _, e := range h.roster().entries {
		if _, ok := e.plugin.(dialect.Connector); !ok {
			continue
		}
		c := Connectable{Plugin: e.info.Name, Dialect: e.found.Dialect}
		for _, name := range e.plugin.Info().Hooks {
			if points := h.connectablePoints(e, name); len(points) > 0 {
				c.Hooks = append(c.Hooks, ConnectableHook{name, points})
			}
		}
		if len(c.Hooks) > 0 {
			list = append(list, c)
		}
	}
	return list
}

// connectablePoints returns the points to which a hook can be connected.
func (h *Host) connectablePoints(e *entry, name string) []hook.Point {
	var points []hook.Point
	for _, spec := range hook.Points() {
		if _, err := h.connected(e, config.Connect{Plugin: e.info.Name, Hook: name, Point: string(spec.Point)}); err == nil {
			points = append(points, spec.Point)
		}
	}
	return points
}
