package pluginhost

import (
	"cmp"
	"path/filepath"
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/dialect/kaged"
	"github.com/patchbay-dev/patchbay/internal/dialect/python"
	"github.com/patchbay-dev/patchbay/internal/projectfiles"
)

// A pluginNames holds the names of a plugin. The name of its place was chosen by the person who
// installed it. The name that it calls itself was chosen by the plugin, and can be the name of any
// other plugin. Settings that grant something therefore apply to the place alone; settings that
// restrict apply to both names: docs/configuration.md, "Names".
type pluginNames struct {
	dialect string
	path    string
	place   string // the name of its directory or file
	called  string // the name it calls itself; "": not known before it runs
	project string // the root of the project that contains it; "": it is the user's own
}

func namesOf(f dialect.Found) pluginNames {
	b := pluginNames{dialect: f.Dialect, path: f.Path, place: cmp.Or(f.Place, f.Name), called: f.Called, project: f.Project}
	if f.Info != nil {
		b.called = cmp.Or(f.Info.Called, f.Info.Name)
	}
	return b
}

// shown returns the name that people see.
func (b pluginNames) shown() string { return cmp.Or(b.called, b.place) }

// keys returns the names under which the configuration may have settings for the plugin. If two
// tables set the same value, the one with the earlier key wins.
func (b pluginNames) keys() []string {
	keys := []string{b.dialect + ":" + b.place, b.place}
	if b.called != "" && b.called != b.place {
		keys = append(keys, b.dialect+":"+b.called, b.called)
	}
	return keys
}

func (b pluginNames) hasName(key string) bool { return slices.Contains(b.keys(), key) }

// placed reports whether key is the name of the plugin's place.
func (b pluginNames) placed(key string) bool { return key == b.place || key == b.dialect+":"+b.place }

// isSame reports whether two values are the same plugin.
func (b pluginNames) isSame(o pluginNames) bool { return b.path == o.path && b.dialect == o.dialect }

// namespace returns the name of the plugin's storage. Kaged plugins, which were the first to have
// storage, use the bare name of their directory. Other names contain a slash, which no directory
// name can. A project's plugin shares its storage neither with the user's plugins nor with other
// projects.
func (b pluginNames) namespace() string {
	if b.project != "" {
		return "project/" + projectfiles.ID(b.project) + "/" + b.dialect + "/" + b.place
	}
	if b.dialect == kaged.Name {
		return b.place
	}
	return b.dialect + "/" + b.place
}

// A census lists all of the user's own plugins that were found, including those that the current
// command does not need: the meaning of a name must not depend on the command. Plugins of a project
// are not in it: they are granted nothing, and cannot take a name from another plugin.
type census []pluginNames

// has reports whether the census has the plugin b.
func (c census) has(b pluginNames) bool { return slices.ContainsFunc(c, b.isSame) }

// withName returns the plugins with the name key: it is the name of their place, or the name that
// they call themselves.
func (c census) withName(key string) census {
	return c.matching(func(b pluginNames) bool { return b.hasName(key) })
}

// placed returns the plugins whose place has a name.
func (c census) placed(key string) census {
	return c.matching(func(b pluginNames) bool { return b.placed(key) })
}

func (c census) matching(chosen func(pluginNames) bool) census {
	var some census
	for _, b := range c {
		if chosen(b) {
			some = append(some, b)
		}
	}
	return some
}

// gives reports whether the grants under key go to the plugin b: key must be the name of b's place,
// and of no other plugin's place.
func (c census) gives(key string, b pluginNames) bool {
	owners := c.placed(key)
	return len(owners) == 1 && owners[0].isSame(b)
}

// claimed returns the other plugin of b's dialect to which the name that b calls itself belongs,
// because its place has that name. A name that several python files declare belongs to the first of
// them (docs/protocols/python.md, row P19). Plugins of other dialects have a name only while they
// run, see [Host.refuseTwins].
func (c census) claimed(name string, b pluginNames) (owner pluginNames, ok bool) {
	if b.place == name {
		return pluginNames{}, false
	}
	others := c.matching(func(o pluginNames) bool { return o.dialect == b.dialect && !o.isSame(b) })
	i := slices.IndexFunc(others, func(o pluginNames) bool { return o.place == name })
	if i < 0 && b.dialect == python.Name {
		i = slices.IndexFunc(others, func(o pluginNames) bool {
			return o.called == name && o.place < b.place && filepath.Dir(o.path) == filepath.Dir(b.path)
		})
	}
	if i < 0 {
		return pluginNames{}, false
	}
	return others[i], true
}

// A section is one [plugins.NAME] table about a plugin.
type section struct {
	key   string
	table config.Plugin
	gives bool // key is the name of this plugin's place and of no other place, so the table's grants apply
}

// sections are all tables about one plugin, the most important first.
type sections []section

func (s *setup) sections(b pluginNames, all census) sections { return sectionsIn(s.config, b, all) }

func sectionsIn(read *config.Config, b pluginNames, all census) sections {
	var own sections
	for _, key := range b.keys() {
		if table, ok := read.Plugins[key]; ok {
			own = append(own, section{key, table, all.gives(key, b)})
		}
	}
	return own
}

// first returns the first value that is set in any table.
func first[T comparable](own sections, of func(config.Plugin) T) (value T) {
	for _, s := range own {
		value = cmp.Or(value, of(s.table))
	}
	return value
}

// disabled returns the first key under which the plugin is disabled. One such table is enough.
func (own sections) disabled() (key string, ok bool) {
	for _, s := range own {
		if !s.table.On() {
			return s.key, true
		}
	}
	return "", false
}

// limits returns the smallest value of each limit.
func (own sections) limits() config.Limits {
	var l config.Limits
	for _, s := range own {
		l = tighter(l, s.table.Limits)
	}
	return l
}

func tighter(a, b config.Limits) config.Limits {
	return config.Limits{Memory: smaller(a.Memory, b.Memory), Processes: smaller(a.Processes, b.Processes),
		OpenFiles: smaller(a.OpenFiles, b.OpenFiles), CPUTime: smaller(a.CPUTime, b.CPUTime), Output: smaller(a.Output, b.Output),
		Storage: smaller(a.Storage, b.Storage), StorageKeys: smaller(a.StorageKeys, b.StorageKeys)}
}

// smaller returns the lower of two limits. Zero means no limit.
func smaller[T int | int64 | time.Duration](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// allowUnenforced reports whether a table sets allow_unenforced. That is a grant, so only tables
// with gives count.
func (own sections) allowUnenforced() bool {
	return slices.ContainsFunc(own, func(s section) bool { return s.gives && s.table.AllowUnenforced })
}

// env returns the variables that are granted to the plugin: the first list in a table that may
// grant it something. nil means that no table has a list. If only other tables have one, the result
// is an empty list, so that the plugin does not inherit the host's environment.
func (own sections) env() []string {
	var env []string
	for _, s := range own {
		if s.table.Env == nil {
			continue
		}
		if s.gives {
			return s.table.Env
		}
		env = []string{}
	}
	return env
}

// granted returns the first list of capabilities that is granted to the plugin, and the lists of
// the other tables, which restrict it.
func (own sections) granted() (grants []capability.Capability, bounds [][]capability.Capability) {
	for _, s := range own {
		switch list := s.table.Capabilities; {
		case list == nil:
		case s.gives && grants == nil:
			grants = list
		default:
			bounds = append(bounds, list)
		}
	}
	return grants, bounds
}

// systemConfig returns the table of secrets.toml for a plugin, or nil if there is none.
func (s *setup) systemConfig(b pluginNames, all census) map[string]any {
	for _, key := range b.keys() {
		if table := s.secrets.Plugin(key).Reveal(); table != nil && all.gives(key, b) {
			return table
		}
	}
	return nil
}
