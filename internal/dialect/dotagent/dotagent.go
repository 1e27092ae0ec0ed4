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

// A Dialect is the dotagent protocol. Its fields have the protocol's values; tests set shorter
// times.
type Dialect struct {
	info, validate, grace time.Duration
	system                string // the third place of docs/protocols/dotagent.md, row D21
	listings              listings
}

// New returns the dialect.
func New() *Dialect {
	return &Dialect{info: infoTimeout, validate: validateTimeout, grace: killGrace, system: systemPlace}
}

// Name is "dotagent".
func (*Dialect) Name() string { return Name }

// Folders returns the directories for plugins. $PATH is searched too, but is not a place to install
// plugins.
func (d *Dialect) Folders(env dialect.Env) []dialect.Folder {
	var places []dialect.Folder
	for _, dir := range d.ownFolders(env) {
		places = append(places, dialect.Folder{Dialect: Name, Dir: dir, Form: filePrefix + "NAME"})
	}
	return places
}

// Points returns the points of the three kinds.
func (*Dialect) Points() []hook.Point {
	return dialect.Points(native, (*translation).spot)
}

// Find lists the plugins by name. The first file of a name counts, even if it cannot be executed:
// docs/protocols/dotagent.md, rows D21 and D23.
func (d *Dialect) Find(env dialect.Env) []dialect.Found {
	var found []dialect.Found
	for _, s := range d.sightings(env) {
		if !s.hidden {
			found = append(found, describe(s.name, s.path, env))
		}
	}
	slices.SortFunc(found, func(a, b dialect.Found) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// At recognises a plugin by the name of its file, as Find does.
func (*Dialect) At(path string, env dialect.Env) (dialect.Found, bool) {
	name, ok := pluginName(filepath.Base(path))
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || !ok {
		return dialect.Found{}, false
	}
	return describe(name, path, env), true
}

// Open calls info and checks the configuration. It leaves no process running except those of
// standby.
func (d *Dialect) Open(ctx context.Context, f dialect.Found, s dialect.Settings, rt *dialect.Runtime) (dialect.Plugin, error) {
	if f.State != "" {
		return nil, fmt.Errorf("it is %s: %w", f.State, f.Err)
	}
	rt.NoSecrets(Name, f.Name, s, `write each secret as NAME = "…" above all tables, and ${NAME} in the config of a notifier`)
	p := newPlugin(d, f, s, rt)
	if err := p.open(ctx, s.Standby); err != nil {
		return nil, err
	}
	return p, nil
}

// Examine reports the folders for plugins that cannot be read, and the plugins that are hidden by
// another one of the same name.
func (d *Dialect) Examine(env dialect.Env) []dialect.Problem {
	var problems []dialect.Problem
	for _, dir := range d.ownFolders(env) {
		if dir != d.system { // the system place may be closed to this user on purpose
			problems = append(problems, dialect.ExamineFolder(dir)...)
		}
	}
	first := make(map[string]string)
	for _, s := range d.sightings(env) {
		switch {
		case !s.hidden:
			first[s.name] = s.path
		case !sameFile(first[s.name], s.path): // not a second link to the same file
			problems = append(problems, dialect.Problem{Path: s.path,
				Message: "plugin " + s.name + ": this file is not used, because " + first[s.name] + " comes first", Fix: "remove or rename one of the two files"})
		}
	}
	return problems
}

// A sighting is a file with a plugin's name.
type sighting struct {
	name   string
	path   string
	hidden bool // another file of that name comes first
}

// sightings lists every file with a plugin's name, in the order of the places.
func (d *Dialect) sightings(env dialect.Env) []sighting {
	var all []sighting
	met := make(map[string]bool)
	for _, dir := range distinct(d.folders(env)) {
		for _, file := range d.listings.filesIn(dir) {
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

// folders returns the four places of docs/protocols/dotagent.md, row D21, in order.
func (d *Dialect) folders(env dialect.Env) []string {
	path := resolve(filepath.SplitList(env.Get("PATH")), env)
	return unique(append(d.ownFolders(env), path...))
}

// ownFolders returns the first three places: all but $PATH.
func (d *Dialect) ownFolders(env dialect.Env) []string {
	all := filepath.SplitList(env.Get("DOTAGENT_PLUGIN_PATH"))
	return unique(resolve(append(all, env.InHome(".config", "dotagent", "plugins"), d.system), env))
}

// resolve makes folders absolute. An empty entry of a list is ignored and does not mean the working
// directory: a plugin must not be found because the user changed into its folder.
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

// distinct drops folders that do not exist, and second names of the same folder. On most systems
// /bin is /usr/bin, and its thousands of names take a millisecond to read.
func distinct(folders []string) []string {
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

// unique drops repeated folders.
func unique(folders []string) []string {
	var out []string
	for _, dir := range folders {
		if !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}

// pluginName returns the <name> of dotagent-plugin-<name>.
func pluginName(file string) (string, bool) {
	name, ok := strings.CutPrefix(file, filePrefix)
	if runtime.GOOS == "windows" {
		name = strings.TrimSuffix(name, filepath.Ext(name))
	}
	return name, ok && name != ""
}

// describe returns the plugin at a path. A file that is not executable is broken, and the error has
// the chmod that fixes it: docs/protocols/dotagent.md, row D23.
func describe(name, path string, env dialect.Env) dialect.Found {
	f := dialect.Found{Dialect: Name, Name: name, Place: name, Path: path}
	if !dialect.Executable(path) {
		f.State, f.Err = dialect.Broken, &unstartable{program.Diagnose(path, env.Vars, nil)}
	} else if start := program.Uninterpreted(path, env.Vars); start != nil {
		f.State, f.Err = dialect.Broken, start
	}
	return f
}

// unstartable is the error of a file that cannot be started. Its text ends with the fix, for
// callers that show only the text.
type unstartable struct{ start *program.StartError }

func (e *unstartable) Error() string { return "it " + e.start.Why + "; " + e.start.Fix }

// Unwrap returns the error that has path, reason and fix as separate fields.
func (e *unstartable) Unwrap() error { return e.start }

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
