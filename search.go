package patchbay

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/patchbay-dev/patchbay/dialect"
	"github.com/patchbay-dev/patchbay/hook"
)

// search lists every plugin there is, with the configuration's word on each.
// Those of the dialects that are not searched, and those that are known
// already, are taken over from before. It starts nothing.
func (h *Host) search(before *roster, dialects []string) (*roster, error) {
	chosen, err := h.setup.chosen()
	if err != nil {
		return nil, err
	}
	s := search{host: h, before: before, now: &roster{}}
	for _, path := range h.setup.Paths {
		if err := s.path(path, chosen); err != nil {
			return nil, err
		}
	}
	for _, d := range chosen {
		switch {
		case h.setup.NoSearch:
		case slices.Contains(dialects, d.Name()):
			for _, f := range d.Find(h.setup.env) {
				s.add(f, d)
			}
		default:
			s.keep(d.Name())
		}
	}
	s.refuseRivals()
	return s.now, nil
}

// A search is one look for plugins.
type search struct {
	host   *Host
	before *roster
	now    *roster
}

// keep takes over the plugins of a dialect that is not searched.
func (s *search) keep(dialect string) {
	for _, e := range s.before.entries {
		if e.found.Dialect == dialect && !e.named {
			s.now.entries = append(s.now.entries, e)
		}
	}
}

// path adds the plugin at a path the caller named.
func (s *search) path(path string, chosen []dialect.Dialect) error {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("plugin path %q: %w", path, err)
	}
	for _, d := range chosen {
		if f, ok := d.At(absolute, s.host.setup.env); ok {
			if e := s.add(f, d); e != nil {
				e.named = true
			}
			return nil
		}
	}
	return fmt.Errorf("%s is no plugin that any dialect knows: %w", path, ErrNotFound)
}

// add decides what is to become of a found plugin. One found twice, by path
// and by search, is one plugin; nil where it is not added.
func (s *search) add(f dialect.Found, d dialect.Dialect) *entry {
	if s.now.at(f) != nil {
		return nil
	}
	if known := s.before.at(f); known != nil && !known.deserves(stampOf(f.Path)) {
		s.now.entries = append(s.now.entries, known)
		return known
	}
	e := &entry{found: f, dialect: d, state: f.State, err: f.Err, stamp: stampOf(f.Path),
		info: dialect.Info{Name: f.Name, Priority: hook.DefaultPriority}}
	if f.Info != nil {
		e.info = *f.Info
	}
	if !s.host.needed(e) {
		return nil
	}
	if e.state == "" {
		s.host.configure(e, f.Name)
	}
	s.now.entries = append(s.now.entries, e)
	return e
}

// at is the entry of a found plugin.
func (r *roster) at(f dialect.Found) *entry {
	for _, e := range r.entries {
		if e.found.Path == f.Path && e.found.Dialect == f.Dialect {
			return e
		}
	}
	return nil
}

// deserves tells whether a plugin is worth another try: it did not work, and
// its files are others now. One that works sees to its own changes.
func (e *entry) deserves(now stamp) bool {
	return e.plugin == nil && e.state != dialect.Disabled && e.stamp != now
}

// A stamp tells one state of a plugin's files from another.
type stamp struct {
	size  int64
	times int64 // of all files together: one that was put back to an older state counts too
}

// stampOf looks at a file, or at all that lies in a folder.
func stampOf(path string) stamp {
	var s stamp
	files := []string{path}
	if list, err := os.ReadDir(path); err == nil {
		for _, f := range list {
			files = append(files, filepath.Join(path, f.Name()))
		}
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			continue // what is not there has no part in it
		}
		s.size += info.Size() + int64(info.Mode())
		s.times += info.ModTime().UnixNano()
	}
	return s
}

// refuseRivals leaves out the second of two enabled plugins in a role that only
// one may have. Which of them is enabled is the operator's choice.
func (s *search) refuseRivals() {
	holders := make(map[string]*entry)
	for _, e := range s.now.entries {
		if e.plugin != nil && e.found.Sole != "" {
			holders[e.found.Sole] = e
		}
	}
	for _, e := range s.now.entries {
		role := e.found.Sole
		if e.state != "" || role == "" {
			continue
		}
		if holder := holders[role]; holder != nil {
			e.fail(fmt.Errorf("there can be one %s, and plugin %s is it already: disable one of them in %s",
				role, holder.info.Name, s.host.setup.dirs.ConfigFile))
			continue
		}
		holders[role] = e
	}
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
