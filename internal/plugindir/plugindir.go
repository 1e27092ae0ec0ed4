package plugindir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// The dialects with rules of their own here.
const (
	dotagent = "dotagent"
	mine     = "mine"
	kaged    = "kaged"
	scaffold = "scaffold"
	python   = "python"
)

// Options say what to look for.
type Options struct {
	Environ  []string
	Dialects []string // only plugins of these; nil: of all
	Called   string   // the original name of the directory, if the directory is a copy with another name; "": it has its own name
	Sole     bool     // for All: the directory was made for one file, which is a plugin whatever it looks like
}

// The errors of One.
var (
	ErrNone    = errors.New("there is no plugin")
	ErrSeveral = errors.New("there is more than one plugin")
)

// mostDeep limits how deep a tree is searched: an archive has one directory around everything, and
// a collection one for each plugin.
const mostDeep = 3

// ignoredDirs lists directories that contain no plugins of the tree itself.
var ignoredDirs = []string{"node_modules", "vendor", "venv", "testdata"}

// All lists the plugins in a tree. Programs count as plugins of scaffold only if nothing else is
// found, since any program could be one.
func All(tree string, o Options) []dialect.Found {
	var all, programs []dialect.Found
	var look func(dir string, depth int)
	look = func(dir string, depth int) {
		if found := folders(dir, o); len(found) > 0 {
			all = append(all, found...)
			return
		}
		for _, e := range entries(dir) {
			path := filepath.Join(dir, e.Name())
			if e.IsDir() && depth < mostDeep && !slices.Contains(ignoredDirs, e.Name()) {
				look(path, depth+1)
			}
			if f, ok := file(path, e, o.at(tree, dir)); ok && f.Dialect == scaffold {
				programs = append(programs, f)
			} else if ok {
				all = append(all, f)
			}
		}
	}
	look(tree, 0)
	if len(all) == 0 {
		all = programs
	}
	return all
}

// at returns the options for a directory of the tree. Called applies only to the tree itself.
func (o Options) at(tree, dir string) Options {
	if dir != tree || o.Called == "" {
		o.Called = filepath.Base(dir)
	}
	return o
}

// entries lists the entries of a directory that are neither hidden nor left behind by an editor. It
// returns nil if the directory cannot be read.
func entries(dir string) []fs.DirEntry {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(list, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") || leftover(e.Name()) })
}

// leftover reports whether a name is that of an earlier version of a file, which an editor or a
// patch has kept. Such a copy of a program is executable as well.
func leftover(name string) bool {
	return strings.HasSuffix(name, "~") || slices.Contains([]string{".bak", ".orig", ".rej", ".swp", ".tmp"}, filepath.Ext(name))
}

// folders returns the plugins whose manifest is in the directory itself.
func folders(dir string, o Options) []dialect.Found {
	return slices.DeleteFunc(pluginhost.AllAt(dir, o.Environ, o.Dialects), func(f dialect.Found) bool { return f.Dialect != kaged && f.Dialect != mine })
}

// One finds the plugin that a path means: a plugin's file or directory, or a directory with one
// plugin in it, beside its README and its tests.
func One(path string, o Options) (dialect.Found, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return dialect.Found{}, err
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return dialect.Found{}, fmt.Errorf("%w at %s: no such file or directory", ErrNone, path)
	}
	if err != nil {
		return dialect.Found{}, err
	}
	if found := pluginhost.AllAt(path, o.Environ, o.Dialects); len(found) > 0 {
		return found[0], nil
	}
	if !info.IsDir() {
		why := "it is neither executable nor a Python file"
		if dialect.Executable(path) {
			why = "it is executable, but does not have the name of a plugin"
		}
		return dialect.Found{}, fmt.Errorf("%w at %s: %s", ErrNone, path, why)
	}
	return pick(path, level(path, o.at("", path)))
}

// level returns the plugins of a directory. If no file is clearly a plugin, it returns all files
// that a dialect accepts, because the author may have only begun.
func level(dir string, o Options) []dialect.Found {
	var sure, maybe []dialect.Found
	for _, e := range entries(dir) {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			sure = append(sure, folders(path, o)...)
			continue
		}
		if f, ok := file(path, e, o); ok {
			sure = append(sure, f)
		}
		if found := pluginhost.AllAt(path, o.Environ, o.Dialects); len(found) > 0 && !isTestOrTool(e.Name()) && !strings.HasPrefix(e.Name(), "_") {
			maybe = append(maybe, found[0])
		}
	}
	if len(sure) == 0 {
		return maybe
	}
	return sure
}

// pick chooses one of several plugins. If exactly one is of dotagent, that is it. Otherwise, if
// exactly one has the directory's name, that is it. Otherwise there must be only one.
func pick(dir string, all []dialect.Found) (dialect.Found, error) {
	for _, likely := range []func(dialect.Found) bool{
		func(f dialect.Found) bool { return f.Dialect == dotagent },
		func(f dialect.Found) bool { return f.Name == filepath.Base(dir) },
		func(dialect.Found) bool { return true },
	} {
		some := slices.DeleteFunc(slices.Clone(all), func(f dialect.Found) bool { return !likely(f) })
		if len(some) == 1 {
			return some[0], nil
		}
	}
	if len(all) == 0 {
		return dialect.Found{}, fmt.Errorf("%w in %s: no manifest, and no file that is executable or Python", ErrNone, dir)
	}
	var names []string
	for _, f := range all {
		names = append(names, filepath.Base(f.Path))
	}
	return dialect.Found{}, fmt.Errorf("%w in %s: %s", ErrSeveral, dir, strings.Join(names, ", "))
}
