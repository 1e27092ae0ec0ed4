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

// A Dialect is the python protocol. Plugins that are opened through one Dialect and one process
// group share an interpreter. A plugin with a sandbox or limits has an interpreter of its own.
type Dialect struct {
	// loadTimeout bounds the loading of a file, and restartWait how long a call waits for an
	// interpreter that is being restarted. Tests set other times.
	loadTimeout, restartWait time.Duration

	mu      sync.Mutex // protects runners and the holders of each
	runners map[share]*runner
}

// New returns the dialect.
func New() *Dialect {
	return &Dialect{loadTimeout: loadTimeout, restartWait: restartWait, runners: make(map[share]*runner)}
}

// Name is "python".
func (*Dialect) Name() string { return Name }

// Folders returns the one folder.
func (*Dialect) Folders(env dialect.Env) []dialect.Folder {
	return []dialect.Folder{{Dialect: Name, Dir: folder(env), Form: "NAME.py"}}
}

// Points returns the points of the six hooks.
func (*Dialect) Points() []hook.Point {
	var points []hook.Point
	for i := range native {
		points = append(points, native[i].point)
	}
	return points
}

// Find lists the files in ~/.agent/plugins by name: docs/protocols/python.md, row P14. Their hooks
// are unknown until they are loaded.
func (*Dialect) Find(env dialect.Env) []dialect.Found {
	var found []dialect.Found
	for _, path := range list(env) {
		found = append(found, at(path))
	}
	return found
}

// At accepts every Python file in the plugins folder, and elsewhere every Python file that is not
// an executable script: docs/protocols/python.md, row P15.
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

// Open loads a plugin into the interpreter of this host, which it starts if there is none. A file
// that is not a plugin is a [*LoadError].
func (d *Dialect) Open(ctx context.Context, f dialect.Found, s dialect.Settings, rt *dialect.Runtime) (dialect.Plugin, error) {
	r, err := d.acquire(ctx, f, rt)
	if err != nil {
		return nil, err
	}
	noteSettings(f.Name, s, rt)
	p := newPlugin(d, r, f, s, rt)
	if err := p.open(ctx); err != nil {
		d.release(ctx, r)
		return nil, err
	}
	return p, nil
}

// Examine reports why the plugins folder cannot be read.
func (*Dialect) Examine(env dialect.Env) []dialect.Problem { return dialect.ExamineFolder(folder(env)) }

// Probe reports that Python is missing or too old, if there are plugins.
func (*Dialect) Probe(env dialect.Env) []dialect.Problem {
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

// folder returns the plugins folder: docs/protocols/python.md, row P14.
func folder(env dialect.Env) string { return env.InHome(".agent", "plugins") }

// list returns the files in the plugins folder by name.
func list(env dialect.Env) []string { return plugins(folder(env)) }

// plugins returns every plugin file in a directory by name. Hidden files, and names that Python
// itself uses, are not plugins.
func plugins(dir string) []string {
	return slices.DeleteFunc(dialect.FilesIn(dir), func(path string) bool {
		return filepath.Ext(path) != ".py" || Reserved(stem(path))
	})
}

// Reserved reports whether Python itself uses files of that name, such as __init__. They are not
// plugins: docs/protocols/python.md, row P14.
func Reserved(name string) bool {
	return strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__")
}

// at describes the plugin at a path. Its name is that of its file until it is loaded.
func at(path string) dialect.Found {
	return dialect.Found{Dialect: Name, Name: stem(path), Place: stem(path), Called: declaredIn(path), Path: path}
}

// FileName returns the name that a plugin has from its file.
func FileName(path string) string { return stem(path) }

func stem(path string) string { return strings.TrimSuffix(filepath.Base(path), ".py") }
