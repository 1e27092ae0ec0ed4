package dotagent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// Name is the dialect's name.
const Name = "dotagent"

// A Dialect is the dotagent protocol. Its fields have the protocol's values; tests of plugins that
// never answer have no time for those.
type Dialect struct {
	info, validate, grace time.Duration
	system                string // the third place
}

// New returns the dialect.
func New() *Dialect {
	return &Dialect{info: infoTimeout, validate: validateTimeout, grace: killGrace, system: systemPlace}
}

// Name is "dotagent".
func (*Dialect) Name() string { return Name }

// Places are the folders people put plugins into. $PATH is searched as well, and is no place to put
// one.
func (d *Dialect) Places(env dialect.Env) []dialect.Place {
	var places []dialect.Place
	for _, dir := range d.ownFolders(env) {
		places = append(places, dialect.Place{Dialect: Name, Dir: dir, Form: filePrefix + "NAME"})
	}
	return places
}

// Points are those of the three kinds.
func (*Dialect) Points() []hook.Point {
	return dialect.Points(native, (*translation).spot)
}

// Find lists the plugins by name. Seed 000: "dotagent searches for the binary in this order,
// returning the first match": a name counts where it is met first, also when that file cannot be
// executed.
func (d *Dialect) Find(env dialect.Env) []dialect.Found {
	var found []dialect.Found
	for _, s := range d.sightings(env) {
		if !s.hidden {
			found = append(found, look(s.name, s.path, env))
		}
	}
	slices.SortFunc(found, func(a, b dialect.Found) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// At knows a plugin by its file's name, as Find does.
func (*Dialect) At(path string, env dialect.Env) (dialect.Found, bool) {
	name, ok := pluginName(filepath.Base(path))
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || !ok {
		return dialect.Found{}, false
	}
	return look(name, path, env), true
}

// Open asks a plugin what it is and checks its configuration. No process is left running, unless
// some are to be kept ready.
func (d *Dialect) Open(ctx context.Context, f dialect.Found, s dialect.Settings, rt *dialect.Runtime) (dialect.Plugin, error) {
	if f.State != "" {
		return nil, fmt.Errorf("it is %s: %w", f.State, f.Err)
	}
	p := newPlugin(d, f, s, rt)
	if err := p.open(ctx, s.Standby); err != nil {
		return nil, err
	}
	return p, nil
}

// Examine names the plugins that are hidden by another of the same name.
func (d *Dialect) Examine(env dialect.Env) []dialect.Problem {
	first := make(map[string]string)
	var problems []dialect.Problem
	for _, s := range d.sightings(env) {
		switch {
		case !s.hidden:
			first[s.name] = s.path
		case !sameFile(first[s.name], s.path): // one file may have two names
			problems = append(problems, dialect.Problem{Path: s.path,
				Message: "it is not used: " + first[s.name] + " comes first"})
		}
	}
	return problems
}

// A sighting is a file with a plugin's name.
type sighting struct {
	name   string
	path   string
	hidden bool // another of the name was met before
}

// sightings lists every file with a plugin's name, place after place.
func (d *Dialect) sightings(env dialect.Env) []sighting {
	var all []sighting
	met := make(map[string]bool)
	for _, dir := range apart(d.folders(env)) {
		for _, file := range filesIn(dir) {
			name, ok := pluginName(file)
			path := filepath.Join(dir, file)
			if info, err := os.Stat(path); !ok || err == nil && info.IsDir() {
				continue
			}
			all = append(all, sighting{name: name, path: path, hidden: met[name]})
			met[name] = true
		}
	}
	return all
}

// folders are the four places of seed 000, in its order.
func (d *Dialect) folders(env dialect.Env) []string {
	path := resolve(filepath.SplitList(env.Get("PATH")), env)
	return unique(append(d.ownFolders(env), path...))
}

// ownFolders are the first three of them.
func (d *Dialect) ownFolders(env dialect.Env) []string {
	all := filepath.SplitList(env.Get("DOTAGENT_PLUGIN_PATH"))
	return unique(resolve(append(all, env.InHome(".config", "dotagent", "plugins"), d.system), env))
}

// resolve makes folders absolute. What is empty in a list is nowhere, not the working directory: a
// plugin is not to be picked up by walking into its folder.
func resolve(dirs []string, env dialect.Env) []string {
	var folders []string
	for _, dir := range dirs {
		if rest, ok := strings.CutPrefix(dir, "~/"); ok {
			dir = env.InHome(rest)
		}
		if abs, err := filepath.Abs(dir); dir != "" && err == nil {
			folders = append(folders, abs)
		}
	}
	return folders
}

// apart leaves out folders that do not exist, and other names of the same folder: on most systems
// /bin is /usr/bin, whose thousands of names take a millisecond to read.
func apart(folders []string) []string {
	var out []string
	var met []os.FileInfo
	for _, dir := range folders {
		info, err := os.Stat(dir)
		if err != nil || slices.ContainsFunc(met, func(other os.FileInfo) bool { return os.SameFile(info, other) }) {
			continue
		}
		met, out = append(met, info), append(out, dir)
	}
	return out
}

// unique keeps the first of each.
func unique(folders []string) []string {
	var out []string
	for _, dir := range folders {
		if !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}

// filesIn lists the files of a folder that have a plugin's name. A folder that does not exist has
// none. The names alone are read: $PATH has thousands.
func filesIn(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, filePrefix) })
	slices.Sort(names)
	return names
}

// pluginName is the <name> of dotagent-plugin-<name>.
func pluginName(file string) (string, bool) {
	name, ok := strings.CutPrefix(file, filePrefix)
	if runtime.GOOS == "windows" {
		name = strings.TrimSuffix(name, filepath.Ext(name))
	}
	return name, ok && name != ""
}

// look is the plugin at a path. The rulings: "A file that is found but not executable is reported
// as such, with the chmod that mends it."
func look(name, path string, env dialect.Env) dialect.Found {
	f := dialect.Found{Dialect: Name, Name: name, Place: name, Path: path}
	if !dialect.Executable(path) {
		f.State, f.Err = dialect.Broken, &unstartable{program.Diagnose(path, env.Vars, nil)}
	} else if start := program.Uninterpreted(path, env.Vars); start != nil {
		f.State, f.Err = dialect.Broken, start
	}
	return f
}

// unstartable is the error of a file that cannot be started. It says what mends it, for those who
// see only the error.
type unstartable struct{ start *program.StartError }

func (e *unstartable) Error() string { return "it " + e.start.Why + "; " + e.start.Fix }

// Unwrap has the path, the reason and the fix apart.
func (e *unstartable) Unwrap() error { return e.start }

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
