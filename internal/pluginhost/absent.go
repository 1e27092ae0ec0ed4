package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// A plugin that cannot be asked is never left out in silence. Where its hooks are known, they are
// on the bus and fail, and the failure table decides; where they are not, the log says that it is
// left out. docs/when-a-plugin-cannot-be-asked.md has the rule for every dialect and point.

// standIn wires the hooks of broken plugins that are known all the same, and says in the log which
// plugins are left out.
func (h *Host) standIn(r *roster) {
	for _, e := range r.entries {
		if e.leftOut || e.plugin != nil || e.state != dialect.Broken && e.state != dialect.Skipped {
			continue
		}
		e.leftOut = true
		if d, ok := e.dialect.(dialect.Declarer); ok && e.state == dialect.Broken {
			e.absent, _ = d.Declared(e.found, e.unavailable())
		}
		h.leaveOut(e)
	}
}

// leaveOut logs that a plugin is left out. Of one whose hooks are wired, each event that meets them
// tells.
func (h *Host) leaveOut(e *entry) {
	level := slog.LevelWarn
	if e.absent != nil {
		level = slog.LevelInfo
	}
	h.setup().Logger.Log(context.Background(), level, "plugin left out", "plugin", e.info.Name, "dialect", e.found.Dialect,
		"err", e.err, dialect.FindingKey, true)
}

// wiring is where the entry's hooks are; nil: nowhere.
func (e *entry) wiring() dialect.Wiring {
	if e.plugin == nil {
		return e.absent
	}
	return pluginWiring{e}
}

// pluginWiring is the wiring of a plugin that is ready.
type pluginWiring struct{ *entry }

func (w pluginWiring) Hooks() []hook.Hook { return w.plugin.Hooks() }

func (w pluginWiring) Connect(name string, point hook.Point) (hook.Hook, error) {
	connector, ok := w.plugin.(dialect.Connector)
	if !ok {
		return hook.Hook{}, fmt.Errorf("%s plugins cannot be connected to other points", w.found.Dialect)
	}
	return connector.Connect(name, point)
}

// unconnected is a connection whose plugin cannot be asked: a hook that fails. At a gate it
// refuses; elsewhere the failure table decides, and the log tells.
func unconnected(c config.Connect, dialectName string, why error) hook.Hook {
	return hook.Hook{Plugin: c.Plugin, Dialect: dialectName, Name: c.Hook, Point: hook.Point(c.Point), Connected: true, Priority: hook.DefaultPriority,
		Call: func(context.Context, *hook.Event) (hook.Reply, error) { return hook.Reply{}, why }}
}

// missing tells whether a connection names a plugin that is not installed. A host that looks at
// some plugins only cannot tell.
func (h *Host) missing(r *roster, c config.Connect) bool {
	some := h.setup().NoSearch || h.setup().Dialects != nil
	own := func(e *entry) bool { return e.found.Project == "" }
	return !some && len(r.names.bearing(c.Plugin)) == 0 && !slices.ContainsFunc(r.meant(c.Plugin), own)
}

// errNoPlugin is why a connection to a plugin that is not there fails.
func (r *roster) errNoPlugin(c config.Connect) error {
	return hook.Failure(hook.Unavailable, dialect.WithFix(fmt.Errorf("[[connect]] names a plugin that is not installed: %s", c.Plugin), dialect.Meant(c.Plugin, r.allNames())))
}

// allNames are those of every plugin that was found.
func (r *roster) allNames() []string {
	var names []string
	for _, b := range r.names {
		names = append(names, b.place, b.called)
	}
	return names
}

// tell logs what went wrong with the plugins of an event and did not end it: the caller has no
// error to show. What a dialect has logged already is not repeated.
func (h *Host) tell(out *hook.Outcome) {
	for i := range out.Steps {
		s := &out.Steps[i]
		if s.Err == nil || s.Action != hook.ActionSkip || s.Err.Logged {
			continue
		}
		h.setup().Logger.Warn("a hook failed and was passed over", "plugin", s.Plugin, "dialect", s.Dialect, "err", s.Err.Cause(),
			"hook", s.Hook, "point", string(out.Point))
	}
}

// unavailable is the error of a call to a plugin that is not ready.
func (e *entry) unavailable() error {
	kind := hook.Unavailable
	if errors.Is(e.err, hook.Outdated) {
		kind = hook.Outdated
	}
	err := hook.Failure(kind, fmt.Errorf("it is %s: %w", e.state, e.err))
	err.Plugin, err.Dialect = e.info.Name, e.found.Dialect
	return err
}
