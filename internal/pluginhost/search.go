package pluginhost

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/dialect/inproc"
	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// search lists all plugins, with the configuration's settings for each. It reuses the entries of
// before for plugins that are known already, and for dialects that are not searched. It starts
// nothing.
//
//	look            finds plugins and their names
//	addEntry        makes or reuses an entry for each plugin that is needed
//	refuseRivals    refuses the second plugin in a role that only one may have
func (h *Host) search(before *roster, dialects []string, again bool) (*roster, error) {
	s := search{host: h, before: before, again: again, now: &roster{closed: h.setup().NoSearch || h.setup().Dirs != nil, idle: make(chan struct{}, 1)}}
	read := make(chan error, 1)
	go func() { read <- h.setup().trust.Read() }() // while the dialects search
	err := s.look(dialects)
	if err := cmp.Or(<-read, err); err != nil {
		return nil, err
	}
	for _, x := range s.sightings {
		s.addEntry(x)
	}
	s.refuseRivals()
	return s.now, nil
}

// A search holds the state of one search for plugins.
type search struct {
	host      *Host
	before    *roster
	again     bool // everything is read again: see [Host.Reload]
	now       *roster
	sightings []sighting
}

// A sighting is a plugin that was found, or the known entry of one.
type sighting struct {
	found   dialect.Found
	dialect dialect.Dialect
	named   bool   // the caller named its path
	known   *entry // set if its dialect is not searched
}

// look finds the plugins to open, and the names of all other installed plugins.
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
	opened := func(d dialect.Dialect) bool { return slices.Contains(chosen, d) && !setup.NoSearch }
	searched := func(d dialect.Dialect) bool { return opened(d) && slices.Contains(dialects, d.Name()) }
	found := s.findAll(searched)
	for i, d := range setup.dialects {
		switch {
		case searched(d):
			for _, f := range found[i] {
				s.add(sighting{found: f, dialect: d})
			}
		case opened(d):
			s.keep(d.Name())
		default:
			s.learn(d)
		}
	}
	return nil
}

// findAll lists the plugins of each dialect for which searched is true, in the order of the
// dialects. The dialects search at the same time, because no plugin is started before the last
// search has ended, and dotagent reads the whole of $PATH. If all plugins are to be started,
// findAll starts the guardian as soon as a dialect has found plugins, because its start takes
// longer than that of a small plugin.
func (s *search) findAll(searched func(dialect.Dialect) bool) [][]dialect.Found {
	setup := s.host.setup()
	found := make([][]dialect.Found, len(setup.dialects)) // each goroutine owns its element
	var searches sync.WaitGroup
	for i, d := range setup.dialects {
		if !searched(d) {
			continue
		}
		searches.Go(func() {
			found[i] = setup.find(d)
			if len(found[i]) > 0 && !setup.NoStart && setup.Needs == nil {
				s.host.procs.Guard()
			}
		})
	}
	searches.Wait()
	return found
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

// learn records the names of plugins that are not to be opened, once for the life of the host.
func (s *search) learn(d dialect.Dialect) {
	if len(s.before.names) > 0 {
		s.keep(d.Name())
		return
	}
	for _, f := range s.host.setup().installed(d) {
		if b := namesOf(f); !s.now.names.has(b) {
			s.now.names = append(s.now.names, b)
		}
	}
}

// path adds the plugin at a path that the caller named.
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
	return fmt.Errorf("no dialect recognises %s as a plugin: %w", path, ErrNotFound)
}

// add records a plugin. One that is found twice, by path and by search, counts once.
func (s *search) add(x sighting) {
	b := namesOf(x.found)
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

// addEntry adds the entry of a plugin to the new roster, if the plugin is needed.
func (s *search) addEntry(x sighting) {
	e := x.known
	if e == nil {
		s.host.logMisspelt(x.found, x.dialect, s.now.names)
		e = s.entry(x)
	}
	if e != nil {
		s.now.entries = append(s.now.entries, e)
	}
}

// entry returns the known entry of a plugin or makes a new one. It returns nil if the plugin is not
// needed.
func (s *search) entry(x sighting) *entry {
	now := stampOf(x.found.Path)
	if known := s.before.at(x.found); known != nil && !known.mustReopen(now) && (s.now.closed || !known.hasWrongName(s.now.names)) &&
		s.hidden(known.names) == known.hidden && (!s.again || !s.outdated(known, x, now)) {
		return known
	}
	f := x.found
	e := &entry{found: f, tally: s.host.tallies.of(f), names: namesOf(f), dialect: x.dialect, named: x.named, state: f.State, err: sayFix(f.Err), stamp: now,
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

// hasWrongName reports whether a running plugin needs another name. There are two cases: the place
// of another plugin now has the plugin's name; or the plugin could not get the name that it calls
// itself, and no other place has that name any more.
func (e *entry) hasWrongName(names census) bool {
	if e.plugin == nil {
		return false
	}
	_, taken := names.claimed(e.info.Name, e.names)
	_, reloads := e.plugin.(dialect.Reloader)
	if taken || !reloads || e.named || e.found.Project != "" || e.info.Called == "" {
		return taken
	}
	_, taken = names.claimed(e.info.Called, e.names)
	return !taken
}

// at returns the entry of a found plugin, or nil.
func (r *roster) at(f dialect.Found) *entry {
	for _, e := range r.entries {
		if e.found.Path == f.Path && e.found.Dialect == f.Dialect {
			return e
		}
	}
	return nil
}

// mustReopen reports whether a plugin must be opened again: after [Host.Restart], or if it has
// another name now. A plugin whose files have changed must be opened again if it did not work, or
// is a [dialect.Fleeting] one, which has no process; the others handle such changes themselves. A
// plugin that its dialect skipped is tried again each time, because the plugin that took its place
// may be gone.
func (e *entry) mustReopen(now stamp) bool {
	_, fleeting := e.plugin.(dialect.Fleeting)
	return e.again.Load() || e.renamed() || (e.plugin == nil || fleeting) && e.state != dialect.Disabled && (e.state == dialect.Skipped && e.hidden == "" || e.stamp != now)
}

// renamed reports whether a plugin that has loaded its file again calls itself by another name than
// before. Its settings, and what the name allows, are those of the old name.
func (e *entry) renamed() bool {
	if _, reloads := e.plugin.(dialect.Reloader); !reloads {
		return false
	}
	info := e.plugin.Info()
	return cmp.Or(info.Called, info.Name) != e.names.shown()
}

// A stamp identifies one state of a plugin's files.
type stamp struct {
	size  int64
	times int64 // the sum of all modification times, so that a file restored to an older state counts too
}

// stampOf returns the stamp of a file, or of a directory with the files directly in it.
func stampOf(path string) stamp {
	var s stamp
	if !s.add(path) {
		return s
	}
	list, err := os.ReadDir(path)
	if err != nil {
		return s
	}
	for _, f := range list {
		s.add(filepath.Join(path, f.Name()))
	}
	return s
}

// add adds a file to the stamp, and reports whether it is a directory. A missing file does not
// count.
func (s *stamp) add(file string) (dir bool) {
	info, err := os.Stat(file)
	if err != nil {
		return false
	}
	s.size += info.Size() + int64(info.Mode())
	s.times += info.ModTime().UnixNano()
	return info.IsDir()
}

// refuseRivals refuses the second of two enabled plugins in a role that only one may have. The
// operator decides which of them is enabled.
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
			e.fail(dialect.WithFix(fmt.Errorf("only one plugin can be the %s, and plugin %s already is", role, holder.info.Name),
				fmt.Sprintf("disable one of them: `patchbay plugin disable %s`, or `patchbay plugin disable %s`", program.Quote(holder.names.place), program.Quote(e.names.place))))
			continue
		}
		holders[role] = e
	}
}

func (h *Host) needed(e *entry) bool {
	if h.setup().Needs == nil {
		return true
	}
	c := Candidate{Points: h.points(e), Name: e.info.Name, Place: e.names.place, Called: e.names.called, Dialect: e.found.Dialect, Path: e.found.Path,
		Known: e.declared(), Commands: e.info.Commands, Err: e.found.Err}
	for _, t := range e.info.Tools {
		c.Tools = append(c.Tools, t.Name)
	}
	return h.setup().Needs(c)
}

// points returns where a plugin may be called, before it runs. If its name is not known yet, any
// connection may mean it.
func (h *Host) points(e *entry) []hook.Point {
	points := e.dialect.Points()
	if e.declared() && len(e.info.Hooks) == 0 {
		points = nil
	}
	for _, c := range h.setup().connections() {
		if e.names.hasName(c.Plugin) || !e.declared() {
			points = append(points, hook.Point(c.Point))
		}
	}
	return points
}

// declared reports whether the files of a plugin show all that it has.
func (e *entry) declared() bool { return e.found.Info != nil && !e.found.Partly }

// configure sets the settings of an entry from the configuration. A broken plugin stays broken,
// unless it is disabled.
func (h *Host) configure(e *entry, names census) {
	e.own, e.alone = h.setup().sections(e.names, names), len(names.placed(e.names.place)) == 1
	if key, ok := e.own.disabled(); ok {
		err := fmt.Errorf("disabled by [plugins.%s] in %s", document.QuoteKey(key), h.setup().dirs.ConfigFile)
		e.state, e.err = dialect.Disabled, dialect.WithFix(err, "`patchbay plugin enable "+program.Quote(e.info.Name)+"`")
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
	e.settings.Grants, e.settings.Withheld, e.settings.Listed = grants, withheld, h.listed(e)
	if err == nil {
		e.settings = h.fitting(e, e.settings)
	}
}

func (e *entry) fail(err error) { e.state, e.err = dialect.Broken, sayFix(err) }

// sayFix makes the text of an error end with its fix, if it has one that the text lacks.
func sayFix(err error) error {
	if err == nil {
		return nil
	}
	message, fix := splitFix(err)
	if fix == "" || message != err.Error() {
		return err
	}
	return dialect.WithFix(err, fix)
}
