package pluginhost

import (
	"cmp"
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/dialect/kaged"
	"github.com/patchbay-dev/patchbay/internal/projectfiles"
)

// A bearer is a plugin as far as names go. It has the name of its place, which the person who
// installed it chose, and the name it calls itself, which it chose. A plugin can call itself like
// any other. So what gives goes by the place alone, and what restricts goes by both names:
// docs/configuration.md, "Names".
type bearer struct {
	dialect string
	path    string
	place   string // the name of its directory or file
	called  string // what it calls itself; "": not known before it runs
	project string // the root of the project that brings it along; "": it is the user's own
}

func bearerOf(f dialect.Found) bearer {
	b := bearer{dialect: f.Dialect, path: f.Path, place: cmp.Or(f.Place, f.Name), project: f.Project}
	if f.Info != nil {
		b.called = cmp.Or(f.Info.Called, f.Info.Name)
	}
	return b
}

// shown is the name by which the plugin is shown.
func (b bearer) shown() string { return cmp.Or(b.called, b.place) }

// keys are the names under which the configuration may speak of the plugin. Of two settings the one
// under the earlier key counts.
func (b bearer) keys() []string {
	keys := []string{b.dialect + ":" + b.place, b.place}
	if b.called != "" && b.called != b.place {
		keys = append(keys, b.dialect+":"+b.called, b.called)
	}
	return keys
}

func (b bearer) bears(key string) bool { return slices.Contains(b.keys(), key) }

// placed tells whether key is the name of the plugin's place.
func (b bearer) placed(key string) bool { return key == b.place || key == b.dialect+":"+b.place }

// is tells whether two bearers are one plugin.
func (b bearer) is(o bearer) bool { return b.path == o.path && b.dialect == o.dialect }

// namespace is where the plugin's storage is. Kaged plugins, which had storage first, have that of
// their directory's name. A slash is in no directory's name. A project's plugin shares none with
// the user's own, nor with those of other projects.
func (b bearer) namespace() string {
	if b.project != "" {
		return "project/" + projectfiles.ID(b.project) + "/" + b.dialect + "/" + b.place
	}
	if b.dialect == kaged.Name {
		return b.place
	}
	return b.dialect + "/" + b.place
}

// A census is every plugin of the user's own that was found. Those that a command has no use for
// count too: what a name means must not depend on who asks. The plugins of a project do not count:
// what is given goes to none of them, and they take no name from anybody.
type census []bearer

// has tells whether a plugin is in it.
func (c census) has(b bearer) bool { return slices.ContainsFunc(c, b.is) }

// bearing are the plugins that bear a name.
func (c census) bearing(key string) census {
	return slices.DeleteFunc(slices.Clone(c), func(b bearer) bool { return !b.bears(key) })
}

// placed are the plugins whose place has a name.
func (c census) placed(key string) census {
	return slices.DeleteFunc(slices.Clone(c), func(b bearer) bool { return !b.placed(key) })
}

// gives tells whether what stands under a key is given to a plugin: its place, and that of no other
// plugin, has the name.
func (c census) gives(key string, b bearer) bool {
	owners := c.placed(key)
	return len(owners) == 1 && owners[0].is(b)
}

// claimed is the other plugin of b's dialect whose place has a name that b has taken.
func (c census) claimed(name string, b bearer) (owner bearer, ok bool) {
	i := slices.IndexFunc(c, func(o bearer) bool { return o.dialect == b.dialect && o.place == name && !o.is(b) })
	if i < 0 || b.place == name {
		return bearer{}, false
	}
	return c[i], true
}

// A section is one [plugins.NAME] table that means a plugin.
type section struct {
	key   string
	table config.Plugin
	gives bool // the name is that of the plugin's place, and of no other's
}

// sections are all that the configuration says about one plugin. What counts first is first.
type sections []section

func (s *setup) sections(b bearer, all census) sections { return sectionsIn(s.config, b, all) }

func sectionsIn(read *config.Config, b bearer, all census) sections {
	var own sections
	for _, key := range b.keys() {
		if table, ok := read.Plugins[key]; ok {
			own = append(own, section{key, table, all.gives(key, b)})
		}
	}
	return own
}

// first is a setting that goes by either name.
func first[T comparable](own sections, of func(config.Plugin) T) (value T) {
	for _, s := range own {
		value = cmp.Or(value, of(s.table))
	}
	return value
}

// disabled is the key under which the plugin is disabled. One such key is enough.
func (own sections) disabled() (key string, ok bool) {
	for _, s := range own {
		if !s.table.On() {
			return s.key, true
		}
	}
	return "", false
}

// limits are the smallest of each.
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

// smaller is the lower of two limits, of which zero is none.
func smaller[T int | int64 | time.Duration](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// allowUnenforced gives.
func (own sections) allowUnenforced() bool {
	return slices.ContainsFunc(own, func(s section) bool { return s.gives && s.table.AllowUnenforced })
}

// env gives variables. A list that is not given to the plugin still narrows an environment that it
// would inherit.
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

// granted is the first list of capabilities that is given to the plugin, and those of the other
// sections, which bound it.
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

// systemConfig is the table of secrets.toml that is given to a plugin; nil: none.
func (s *setup) systemConfig(b bearer, all census) map[string]any {
	for _, key := range b.keys() {
		if table := s.secrets.Plugin(key).Reveal(); table != nil && all.gives(key, b) {
			return table
		}
	}
	return nil
}
