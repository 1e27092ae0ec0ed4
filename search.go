package patchbay

import (
	"fmt"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/dialect"
	"github.com/patchbay-dev/patchbay/hook"
)

// search lists every plugin there is, with the configuration's word on each.
// It starts nothing.
func (h *Host) search() error {
	chosen, err := h.setup.chosen()
	if err != nil {
		return err
	}
	for _, path := range h.setup.Paths {
		if err := h.searchPath(path, chosen); err != nil {
			return err
		}
	}
	if h.setup.NoSearch {
		return nil
	}
	for _, d := range chosen {
		for _, f := range d.Find(h.setup.env) {
			h.add(f, d)
		}
	}
	h.refuseRivals()
	return nil
}

// refuseRivals leaves out the second of two enabled plugins in a role that only
// one may have. Which of them is enabled is the operator's choice.
func (h *Host) refuseRivals() {
	holders := make(map[string]*entry)
	for _, e := range h.entries {
		role := e.found.Sole
		if e.state != "" || role == "" {
			continue
		}
		if holder := holders[role]; holder != nil {
			e.fail(fmt.Errorf("there can be one %s, and plugin %s is it already: disable one of them in %s",
				role, holder.info.Name, h.setup.dirs.ConfigFile))
			continue
		}
		holders[role] = e
	}
}

// searchPath adds the plugin at a path the caller named.
func (h *Host) searchPath(path string, chosen []dialect.Dialect) error {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("plugin path %q: %w", path, err)
	}
	for _, d := range chosen {
		if f, ok := d.At(absolute, h.setup.env); ok {
			h.add(f, d)
			return nil
		}
	}
	return fmt.Errorf("%s is no plugin that any dialect knows: %w", path, ErrNotFound)
}

// add decides what is to become of a found plugin. One found twice, by path
// and by search, is one plugin.
func (h *Host) add(f dialect.Found, d dialect.Dialect) {
	for _, e := range h.entries {
		if e.found.Path == f.Path && e.found.Dialect == f.Dialect {
			return
		}
	}
	e := &entry{found: f, dialect: d, state: f.State, err: f.Err,
		info: dialect.Info{Name: f.Name, Priority: hook.DefaultPriority}}
	if f.Info != nil {
		e.info = *f.Info
	}
	if !h.needed(e) {
		return
	}
	if e.state == "" {
		h.configure(e, f.Name)
	}
	h.entries = append(h.entries, e)
}

func (h *Host) needed(e *entry) bool {
	if h.setup.Needs == nil {
		return true
	}
	c := Candidate{Points: h.points(e), Name: e.info.Name, Dialect: e.found.Dialect, Path: e.found.Path,
		Known: e.found.Info != nil, Hooks: e.info.Hooks, Methods: e.info.Methods, Commands: e.info.Commands}
	for _, t := range e.info.Tools {
		c.Tools = append(c.Tools, t.Name)
	}
	return h.setup.Needs(c)
}

// points are where a plugin may be asked, before it is known who it is: a
// connection may name any plugin whose name is not known yet.
func (h *Host) points(e *entry) []hook.Point {
	points := e.dialect.Points()
	if e.found.Info != nil && len(e.info.Hooks) == 0 {
		points = nil
	}
	for _, c := range h.setup.config.Connect {
		if c.Plugin == e.info.Name || e.found.Info == nil {
			points = append(points, hook.Point(c.Point))
		}
	}
	return points
}

// configure gives an entry what the configuration says under a name.
func (h *Host) configure(e *entry, name string) {
	if !h.setup.config.Plugins[name].On() {
		e.state, e.err = dialect.Disabled, fmt.Errorf("disabled by [plugins.%s] in %s", name, h.setup.dirs.ConfigFile)
		return
	}
	var err error
	if e.settings, err = h.setup.settings(name); err != nil {
		e.fail(err)
	}
}

func (e *entry) fail(err error) { e.state, e.err = dialect.Broken, err }
