package python

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// Name is the dialect's name.
const Name = "python"

// A Dialect is the python protocol. Plugins that are opened through one value and one process group
// share an interpreter, but for those that have a sandbox or limits: each of these has an
// interpreter to itself.
type Dialect struct {
	// Tests of plugins that never end have no time for the real value.
	loadTimeout time.Duration

	mu      sync.Mutex // protects runners, and how many hold each of them
	runners map[share]*runner
}

// New returns the dialect.
func New() *Dialect {
	return &Dialect{loadTimeout: loadTimeout, runners: make(map[share]*runner)}
}

// Name is "python".
func (*Dialect) Name() string { return Name }

// Places is the one folder.
func (*Dialect) Places(env dialect.Env) []dialect.Place {
	return []dialect.Place{{Dialect: Name, Dir: folder(env), Form: "NAME.py"}}
}

// Points are those of the six hooks.
func (*Dialect) Points() []hook.Point {
	var points []hook.Point
	for i := range native {
		points = append(points, native[i].point)
	}
	return points
}

// Find lists the files in ~/.agent/plugins by name. Which hooks a plugin has is not known until it
// runs.
func (*Dialect) Find(env dialect.Env) []dialect.Found {
	var found []dialect.Found
	for _, path := range list(env) {
		found = append(found, at(path))
	}
	return found
}

// At takes any Python file for a plugin, unless it is a program of its own: one with a #! line and
// the right to be executed speaks another dialect.
func (*Dialect) At(path string, env dialect.Env) (dialect.Found, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || filepath.Ext(path) != ".py" {
		return dialect.Found{}, false
	}
	if filepath.Dir(path) != folder(env) && dialect.Executable(path) && dialect.IsScript(path) {
		return dialect.Found{}, false
	}
	return at(path), true
}

// Open loads a plugin into the interpreter of this host, which it starts where there is none. A
// file that is no plugin is a [*LoadError].
func (d *Dialect) Open(ctx context.Context, f dialect.Found, s dialect.Settings, rt *dialect.Runtime) (dialect.Plugin, error) {
	r, err := d.acquire(ctx, f, rt)
	if err != nil {
		return nil, err
	}
	p := newPlugin(d, r, f, s, rt)
	if err := p.open(ctx); err != nil {
		d.release(ctx, r)
		return nil, err
	}
	return p, nil
}

// Examine says what keeps all plugins from running: no Python, or an old one.
func (*Dialect) Examine(env dialect.Env) []dialect.Problem {
	plugins := list(env)
	if len(plugins) == 0 {
		return nil
	}
	err := checkPython(env)
	if err == nil {
		return nil
	}
	return []dialect.Problem{{Path: folder(env), Fix: err.Fix,
		Message: fmt.Sprintf("none of the %d Python plugins here can run: %v", len(plugins), err)}}
}

// folder is where plugins live. Seed 004: "Ensure file is in ~/.agent/plugins/".
func folder(env dialect.Env) string { return env.InHome(".agent", "plugins") }

// list is every plugin file by name. Hidden files, and those that begin with _, are none: by
// Python's custom they are for other modules.
func list(env dialect.Env) []string {
	return slices.DeleteFunc(dialect.FilesIn(folder(env)), func(path string) bool {
		return filepath.Ext(path) != ".py" || strings.HasPrefix(filepath.Base(path), "_")
	})
}

// at is a plugin that may be opened. Until it says its name, its file's does.
func at(path string) dialect.Found {
	return dialect.Found{Dialect: Name, Name: stem(path), Place: stem(path), Path: path}
}

// FileName is the name that a plugin has by its file.
func FileName(path string) string { return stem(path) }

func stem(path string) string { return strings.TrimSuffix(filepath.Base(path), ".py") }
