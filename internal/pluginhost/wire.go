package pluginhost

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

// wire puts the hooks of every plugin on the bus and lists the tools by name. Then it makes r the
// host's roster.
func (h *Host) wire(r *roster) error {
	r.tools = make(map[string]*entry)
	for _, e := range r.entries {
		if e.plugin != nil {
			h.register(r, e)
		}
	}
	h.wireMu.Lock()
	defer h.wireMu.Unlock()
	if err := h.wireHooks(r); err != nil {
		return err
	}
	h.plugins.Store(r)
	h.replaced()
	return nil
}

// rewire puts the hooks on the bus again after those of a plugin have changed. Events in progress
// finish with the old hooks.
func (h *Host) rewire() {
	h.wireMu.Lock()
	defer h.wireMu.Unlock()
	r := h.plugins.Load()
	if r == nil {
		return // wire has not run yet
	}
	if err := h.wireHooks(r); err != nil {
		h.setup().Logger.Warn("hooks stay as they were", "err", err)
	}
}

// wireHooks puts the hooks of all plugins on the bus.
func (h *Host) wireHooks(r *roster) error {
	var hooks []hook.Hook
	for position, e := range slices.Concat(r.entries, r.scripts) {
		w := e.wiring()
		if w == nil {
			continue
		}
		for _, hk := range w.Hooks() {
			hooks = append(hooks, h.wired(e, hk, position))
		}
	}
	connected, err := h.connect(r)
	if err != nil {
		return err
	}
	hooks = append(notReplaced(hooks, connected), connected...)
	if err := h.bus.Set(append(hooks, h.hooksAtOwnPoints(hooks)...)); err != nil {
		return err
	}
	if tell := h.setup().OnWired; tell != nil {
		tell()
	}
	return nil
}

// notReplaced returns the hooks without those that a connection replaces. If a hook is called only
// by name, and a connection puts it at its own point, the connected hook is called there for every
// event, and replaces it.
func notReplaced(hooks, connected []hook.Hook) []hook.Hook {
	return slices.DeleteFunc(hooks, func(hk hook.Hook) bool {
		return hk.ByName && slices.ContainsFunc(connected, func(c hook.Hook) bool {
			return c.Position == hk.Position && c.Name == hk.Name && c.Point == hk.Point
		})
	})
}

// wired completes a hook with the names, counters and settings of its plugin.
func (h *Host) wired(e *entry, hk hook.Hook, position int) hook.Hook {
	hk.Plugin, hk.Dialect, hk.Position, hk.Counters = e.info.Name, e.found.Dialect, position, &e.tally.Counters
	hk.Alias, hk.Priority = e.names.place, e.priority()
	if e.policy != nil {
		hk.Remarks = e.denials.take
	}
	if _, own := e.plugin.(dialect.Timekeeper); e.settings.Timeout > 0 && !own {
		hk.Timeout = e.settings.Timeout
	}
	if own := first(e.own, func(p config.Plugin) config.OnFailure { return p.OnFailure }); own != "" {
		hk.OnFailure = hook.Action(own)
	}
	return hk
}

func (e *entry) priority() int {
	if p := first(e.own, func(p config.Plugin) *int { return p.Priority }); p != nil {
		return *p
	}
	return e.info.Priority
}

// connect returns the hooks of all [[connect]] tables.
func (h *Host) connect(r *roster) ([]hook.Hook, error) {
	var hooks []hook.Hook
	var problems []config.Problem
	wrong := false // a table has a fault; a plugin that is not installed is no fault
	for i, c := range h.setup().connections() {
		found, err := h.connection(r, c)
		wrong = wrong || err != nil
		if err == nil && h.missing(r, c) {
			err = r.errNoPlugin(c)
		}
		if err != nil {
			message, fix := splitFix(err)
			problems = append(problems, h.setup().config.Problem(message, fix, "connect", i))
		}
		hooks = append(hooks, found...)
	}
	if wrong {
		return nil, &config.Error{Problems: problems}
	}
	return hooks, nil
}

// connection returns the hooks of one [[connect]] table: one for each plugin that the table means,
// that works, and that has such a hook. If there is none, it returns hooks that fail.
func (h *Host) connection(r *roster, c config.Connect) ([]hook.Hook, error) {
	point := hook.Point(c.Point)
	if _, ok := h.bus.Spec(point); !ok {
		return nil, dialect.WithFix(fmt.Errorf("no point %q", c.Point), cmp.Or(dialect.Meant(c.Point, h.pointNames()), "`patchbay fire --list` lists the points"))
	}
	meant := slices.DeleteFunc(r.meant(c.Plugin), func(e *entry) bool { return e.found.Project != "" }) // the table means the user's own plugins
	if len(meant) == 0 {
		if !h.missing(r, c) {
			return nil, nil // this host opened only some plugins, and not this one
		}
		failing := unconnected(c, "", r.errNoPlugin(c))
		failing.OnFailure = h.setup().onFailure(c.Plugin)
		return []hook.Hook{failing}, nil
	}
	hooks, err := h.connectChosen(r, c, meant, func(e *entry) bool { return e.plugin != nil })
	if len(hooks) == 0 { // a plugin that does not work may have the hook
		if failing, _ := h.connectChosen(r, c, meant, func(e *entry) bool { return e.plugin == nil }); len(failing) > 0 {
			return failing, nil
		}
	}
	return hooks, err
}

// connectChosen connects those of the meant plugins for which chosen is true. It returns an error
// if none of them has such a hook.
func (h *Host) connectChosen(r *roster, c config.Connect, meant []*entry, chosen func(*entry) bool) ([]hook.Hook, error) {
	var hooks []hook.Hook
	var errs []error
	for _, e := range meant {
		if !chosen(e) {
			continue
		}
		hk, err := h.connected(e, c)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if e.hooksAnyway(hk) {
			continue // it would be called twice; Doctor reports the table
		}
		hk = h.wired(e, hk, slices.Index(r.entries, e))
		hk.Connected = true
		hooks = append(hooks, hk)
	}
	if len(hooks) == 0 {
		return nil, errors.Join(errs...)
	}
	return hooks, nil
}

// hooksAnyway reports whether the plugin's hook is called at this point without a connection.
func (e *entry) hooksAnyway(hk hook.Hook) bool {
	w := e.wiring()
	return w != nil && slices.ContainsFunc(w.Hooks(), func(own hook.Hook) bool { return own.Name == hk.Name && own.Point == hk.Point && !own.ByName })
}

// connected returns a plugin's hook at the point of the table. If the plugin does not work, it
// returns a hook that fails, and no error, even if the plugin seems to have no such hook: perhaps
// only its files are faulty.
func (h *Host) connected(e *entry, c config.Connect) (hook.Hook, error) {
	if w := e.wiring(); w != nil {
		if hk, err := h.connectAt(w, c.Hook, hook.Point(c.Point)); err == nil || e.plugin != nil {
			return hk, err
		}
	}
	return unconnected(c, e.found.Dialect, e.unavailable()), nil
}

func (h *Host) pointNames() []string {
	var names []string
	for _, s := range hook.Points() {
		names = append(names, string(s.Point))
	}
	for p := range h.ownPoints {
		names = append(names, string(p))
	}
	return names
}

// register lists a plugin's tools by their full names.
func (h *Host) register(r *roster, e *entry) {
	if _, ok := e.plugin.(dialect.ToolCaller); !ok {
		return
	}
	if _, ok := e.plugin.(dialect.Lister); ok {
		return // its tools may change: toolOwner looks them up
	}
	for _, t := range e.info.Tools {
		if other := r.tools[t.Name]; other != nil {
			h.setup().Logger.Warn("tool left out: its name is taken", "plugin", e.info.Name, "dialect", e.found.Dialect,
				"tool", t.Name, "by", other.info.Name)
			e.odd.add(dialect.Problem{Path: e.found.Path, Message: fmt.Sprintf("its tool %s is left out: plugin %s (%s) has one of that name",
				t.Name, other.info.Name, other.found.Dialect), Fix: "disable or rename one of the two plugins"}, true)
			continue
		}
		r.tools[t.Name] = e
	}
}

// runtimeOf returns the runtime of one plugin: the parts of the host that its dialect may use.
// Storage belongs to the plugin's place, as all grants do.
func (h *Host) runtimeOf(e *entry, names census, log *slog.Logger) *dialect.Runtime {
	rt := h.runtime(log)
	rt.Note = func(p dialect.Problem, unusable bool) {
		p.Path = cmp.Or(p.Path, e.found.Path)
		e.odd.add(p, unusable)
	}
	if e.found.Project != "" || names.gives(e.names.dialect+":"+e.names.place, e.names) {
		rt.Storage = h.storage(e)
	}
	rt.Program = wrapped(e.found.Path, h.setup().installedOf(e.names))
	rt.Vet, rt.VetStarts = h.vetter(e), h.setup().trust.Policy() == trust.Locked
	if pass := h.setup().OnNotification; pass != nil {
		rt.Notify = func(n dialect.Notification) { pass(Notification{e.names.shown(), e.found.Dialect, n}) }
	}
	rt.Settings = func(called string) (dialect.Settings, error) {
		b := e.names
		b.called = called
		return h.setup().settings(b, names)
	}
	return rt
}

// storage returns the storage of a plugin, or nil if there is none.
func (h *Host) storage(e *entry) dialect.Storage {
	open := h.setup().Storage
	if open == nil {
		return nil
	}
	limits := e.own.limits()
	return open(e.names.namespace(), dialect.StorageQuota{Bytes: limits.Storage, Keys: limits.StorageKeys})
}

// runtime returns the parts of the runtime that are the same for all plugins.
func (h *Host) runtime(log *slog.Logger) *dialect.Runtime {
	return &dialect.Runtime{
		Procs:        h.procs,
		Log:          log,
		Env:          h.setup().env,
		HooksChanged: h.rewire,
		Changed:      h.changed,
		HostVersion:  Version,
		Dir:          h.setup().Dir,
		ProjectRoot:  h.setup().projectRoot,
		ProjectID:    filepath.Base(h.setup().projectRoot),
	}
}
