package pluginhost

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/dialect/inproc"
	"github.com/patchbay-dev/patchbay/internal/document"
)

// search lists every plugin there is, with the configuration's word on each. Those of the dialects
// that are not searched, and those that are known already, are taken over from before. It starts
// nothing.
//
//	look            what there is, and what it is called
//	settle          one entry for each that is needed
//	refuseRivals    those in a role that another has
func (h *Host) search(before *roster, dialects []string, again bool) (*roster, error) {
	s := search{host: h, before: before, again: again, now: &roster{closed: h.setup().NoSearch || h.setup().Dirs != nil, idle: make(chan struct{}, 1)}}
	if err := s.look(dialects); err != nil {
		return nil, err
	}
	for _, x := range s.sightings {
		s.settle(x)
	}
	s.refuseRivals()
	return s.now, nil
}

// A search is one look for plugins.
type search struct {
	host      *Host
	before    *roster
	again     bool // everything is read again: see [Host.Reload]
	now       *roster
	sightings []sighting
}

// A sighting is a plugin that was found, or one that is known already.
type sighting struct {
	found   dialect.Found
	dialect dialect.Dialect
	named   bool   // by the caller, with a path
	known   *entry // of a dialect that is not searched
}

// look finds the plugins that are to be opened, and learns the names of the others that are
// installed.
func (s *search) look(dialects []string) error {
	setup := s.host.setup()
	chosen, err := setup.chosen()
	if err != nil {
		return err
	}
	for _, path := range setup.Paths {
		if err := s.path(path, chosen); err != nil {
			return err
		}
	}
	for _, p := range setup.Plugins {
		s.add(sighting{found: p.Found(), dialect: inproc.Dialect{}, named: true})
	}
	if setup.Dirs != nil {
		return s.dirs(chosen)
	}
	for _, d := range setup.dialects {
		switch opened := slices.Contains(chosen, d) && !setup.NoSearch; {
		case opened && slices.Contains(dialects, d.Name()):
			for _, f := range setup.find(d) {
				s.add(sighting{found: f, dialect: d})
			}
		case opened:
			s.keep(d.Name())
		default:
			s.learn(d)
		}
	}
	return nil
}

// keep takes over the plugins of a dialect that is not searched.
func (s *search) keep(dialect string) {
	for _, b := range s.before.names {
		if b.dialect == dialect && !s.now.names.has(b) {
			s.now.names = append(s.now.names, b)
		}
	}
	for _, e := range s.before.entries {
		if e.found.Dialect == dialect && !e.named {
			s.sightings = append(s.sightings, sighting{found: e.found, known: e})
		}
	}
}

// learn looks for the names of plugins that are not to be opened, once for the life of the host.
func (s *search) learn(d dialect.Dialect) {
	if len(s.before.names) > 0 {
		s.keep(d.Name())
		return
	}
	for _, f := range s.host.setup().installed(d) {
		if b := bearerOf(f); !s.now.names.has(b) {
			s.now.names = append(s.now.names, b)
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
		if f, ok := d.At(absolute, s.host.setup().env); ok {
			s.add(sighting{found: f, dialect: d, named: true})
			return nil
		}
	}
	return fmt.Errorf("%s is no plugin that any dialect knows: %w", path, ErrNotFound)
}

// add takes note of a plugin. One found twice, by path and by search, is one plugin.
func (s *search) add(x sighting) {
	b := bearerOf(x.found)
	if b.project != "" {
		s.sightings = append(s.sightings, x)
		return
	}
	if s.now.names.has(b) {
		return
	}
	if known := s.before.at(x.found); known != nil && b.called == "" {
		b.called = known.names.called
	}
	s.now.names = append(s.now.names, b)
	s.sightings = append(s.sightings, x)
}

// settle decides what is to become of a plugin.
func (s *search) settle(x sighting) {
	e := x.known
	if e == nil {
		e = s.entry(x)
	}
	if e != nil {
		s.now.entries = append(s.now.entries, e)
	}
}

// entry is that of a found plugin, which may be known already; nil where it is not needed.
func (s *search) entry(x sighting) *entry {
	now := stampOf(x.found.Path)
	if known := s.before.at(x.found); known != nil && !known.deserves(now) && (s.now.closed || !known.usurps(s.now.names)) &&
		s.hidden(known.names) == known.hidden && (!s.again || !s.outdated(known, x, now)) {
		return known
	}
	f := x.found
	e := &entry{found: f, tally: s.host.tallies.of(f), names: bearerOf(f), dialect: x.dialect, named: x.named, state: f.State, err: f.Err, stamp: now,
		info: dialect.Info{Name: f.Name, Priority: hook.DefaultPriority}}
	if f.Info != nil {
		e.info = *f.Info
	}
	if !s.host.needed(e) {
		return nil
	}
	s.host.configure(e, s.now.names)
	s.hide(e)
	return e
}

// usurps tells whether a running plugin has a name that is now that of another's place.
func (e *entry) usurps(names census) bool {
	_, taken := names.claimed(e.info.Name, e.names)
	return e.plugin != nil && taken
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

// deserves tells whether a plugin is worth another try: it did not work, and its files are others
// now, or there was no place for it. One that works sees to its own changes, unless there is no
// process of it to do so, or somebody wants it opened anew.
func (e *entry) deserves(now stamp) bool {
	_, fleeting := e.plugin.(dialect.Fleeting)
	return e.again.Load() || (e.plugin == nil || fleeting) && e.state != dialect.Disabled && (e.state == dialect.Skipped && e.hidden == "" || e.stamp != now)
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

// refuseRivals leaves out the second of two enabled plugins in a role that only one may have. Which
// of them is enabled is the operator's choice.
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
				role, holder.info.Name, s.host.setup().dirs.ConfigFile))
			continue
		}
		holders[role] = e
	}
}

func (h *Host) needed(e *entry) bool {
	if h.setup().Needs == nil {
		return true
	}
	c := Candidate{Points: h.points(e), Name: e.info.Name, Place: e.names.place, Dialect: e.found.Dialect, Path: e.found.Path,
		Known: e.found.Info != nil, Hooks: e.info.Hooks, Methods: e.info.Methods, Commands: e.info.Commands, Err: e.found.Err}
	for _, t := range e.info.Tools {
		c.Tools = append(c.Tools, t.Name)
	}
	return h.setup().Needs(c)
}

// points are where a plugin may be asked, before it is known who it is: a connection may name any
// plugin whose name is not known yet.
func (h *Host) points(e *entry) []hook.Point {
	points := e.dialect.Points()
	if e.found.Info != nil && len(e.info.Hooks) == 0 {
		points = nil
	}
	for _, c := range h.setup().connections() {
		if e.names.bears(c.Plugin) || e.found.Info == nil {
			points = append(points, hook.Point(c.Point))
		}
	}
	return points
}

// configure gives an entry what the configuration says about it. What is broken stays so, unless it
// is disabled.
func (h *Host) configure(e *entry, names census) {
	e.own, e.alone = h.setup().sections(e.names, names), len(names.placed(e.names.place)) == 1
	if key, ok := e.own.disabled(); ok {
		e.state, e.err = dialect.Disabled, fmt.Errorf("disabled by [plugins.%s] in %s", document.QuoteKey(key), h.setup().dirs.ConfigFile)
		return
	}
	if e.state != "" && e.state != dialect.Ready {
		return
	}
	grants, withheld := e.settings.Grants, e.settings.Withheld
	var err error
	if e.settings, err = h.setup().settings(e.names, names); err != nil {
		e.fail(err)
	}
	e.settings.Grants, e.settings.Withheld = grants, withheld
	if err == nil {
		h.fitProject(e)
	}
}

func (e *entry) fail(err error) { e.state, e.err = dialect.Broken, err }
