package pluginhost

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/schema"
)

// A Point is a point that the embedding program declares.
type Point struct {
	Name   hook.Point
	Like   hook.Point      // the built-in point with the same mode, fields and plugins
	Doc    string          // one line
	Schema json.RawMessage // JSON Schema of the payload; nil: any object
}

// An ownPoint is a declared point of the embedding program.
type ownPoint struct {
	like   hook.Point
	schema *schema.Schema // nil: any object is valid
}

// declare adds the program's own points to the bus.
func (h *Host) declare(points []Point) error {
	h.ownPoints = make(map[hook.Point]*ownPoint, len(points))
	for _, p := range points {
		if err := h.bus.Declare(p.Name, p.Like, p.Doc); err != nil {
			return err
		}
		own := &ownPoint{like: p.Like}
		if p.Schema != nil {
			compiled, faults := schema.Compile(p.Schema)
			if faults != nil {
				return fmt.Errorf("point %q: schema: %s", p.Name, faults[0])
			}
			own.schema = compiled
		}
		h.ownPoints[p.Name] = own
	}
	return nil
}

// checkPayload validates the payload of one of the program's own points against its schema.
func (h *Host) checkPayload(p hook.Point, payload json.RawMessage) error {
	own := h.ownPoints[p]
	if own == nil || own.schema == nil {
		return nil
	}
	if len(payload) == 0 {
		payload = json.RawMessage("{}")
	}
	faults := own.schema.Check(payload)
	if len(faults) == 0 {
		return nil
	}
	words := make([]string, len(faults))
	for i, f := range faults {
		words[i] = f.String()
	}
	return fmt.Errorf("%s: %w that the point's schema allows: %s", p, hook.ErrBadPayload, strings.Join(words, "; "))
}

// hooksAtOwnPoints returns more hooks, for the program's own points. Each own point gets a copy of
// every hook at the built-in point that it is like. A plugin that already has a hook at the own
// point gets no copy there.
func (h *Host) hooksAtOwnPoints(hooks []hook.Hook) []hook.Hook {
	var more []hook.Hook
	for name, own := range h.ownPoints {
		for _, hk := range hooks {
			if hk.Point == own.like && !hasHookAt(hooks, hk, name) {
				more = append(more, own.hookAt(hk, name))
			}
		}
	}
	return more
}

// hasHookAt reports whether the plugin of a hook also has a hook at the point at.
func hasHookAt(hooks []hook.Hook, of hook.Hook, at hook.Point) bool {
	return slices.ContainsFunc(hooks, func(hk hook.Hook) bool { return hk.Point == at && hk.Plugin == of.Plugin && hk.Dialect == of.Dialect })
}

// hookAt returns a copy of a hook at one of the program's own points. Its plugin sees events of the
// built-in point that the own point is like.
func (o *ownPoint) hookAt(hk hook.Hook, to hook.Point) hook.Hook {
	hk.Point = to
	call, match := hk.Call, hk.Match
	hk.Call = func(ctx context.Context, ev *hook.Event) (hook.Reply, error) { return call(ctx, o.seen(ev)) }
	if match != nil {
		hk.Match = func(ev *hook.Event) bool { return match(o.seen(ev)) }
	}
	return hk
}

func (o *ownPoint) seen(ev *hook.Event) *hook.Event {
	seen := *ev
	seen.Point = o.like
	return &seen
}

// connectAt connects a plugin's hook to a point, which may be one of the program's own.
func (h *Host) connectAt(w dialect.HookSet, name string, p hook.Point) (hook.Hook, error) {
	own := h.ownPoints[p]
	if own == nil {
		return w.Connect(name, p)
	}
	hk, err := w.Connect(name, own.like)
	return own.hookAt(hk, p), err
}

// A Connection connects a plugin's hook to another point than its own.
type Connection struct {
	Plugin string
	Hook   string // the dialect's name of the hook
	Point  hook.Point
}

// connections returns the connections of the configuration and those of the program.
func (s *setup) connections() []config.Connect {
	all := s.config.Connect
	for _, c := range s.Connect {
		all = append(all[:len(all):len(all)], config.Connect{Plugin: c.Plugin, Hook: c.Hook, Point: string(c.Point)})
	}
	return all
}
