package scaffold

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// Name is the dialect's name.
const Name = "scaffold"

// A Dialect is the scaffold protocol.
type Dialect struct{}

// New returns the dialect.
func New() *Dialect { return &Dialect{} }

// Name is "scaffold".
func (*Dialect) Name() string { return Name }

// Folders returns the one folder.
func (*Dialect) Folders(env dialect.Env) []dialect.Folder {
	return []dialect.Folder{{Dialect: Name, Dir: folder(env), Form: "executable files"}}
}

// Points returns the points of the six hooks.
func (*Dialect) Points() []hook.Point {
	return dialect.Points(native, (*translation).spot)
}

// Find lists the executables in the plugins folder by name: docs/protocols/scaffold.md, row S25. It
// also lists links to nothing, which do not start, so that the host reports them.
func (*Dialect) Find(env dialect.Env) []dialect.Found {
	var found []dialect.Found
	for _, path := range list(env) {
		if dialect.Executable(path) || dialect.LeadsNowhere(path) {
			found = append(found, at(path))
		}
	}
	return found
}

// Most returns how many plugins may run: docs/protocols/scaffold.md, row S27.
func (*Dialect) Most() int { return mostPlugins }

// At accepts any executable file, and any script, even one that is not executable.
func (*Dialect) At(path string, _ dialect.Env) (dialect.Found, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return dialect.Found{}, false
	}
	return at(path), dialect.Executable(path) || dialect.IsScript(path)
}

// Open starts a plugin and shakes hands with it.
func (*Dialect) Open(ctx context.Context, f dialect.Found, s dialect.Settings, rt *dialect.Runtime) (dialect.Plugin, error) {
	return open(ctx, f, s, rt)
}

// Examine reports why the plugins folder cannot be read, scripts in it that lack their executable
// bit, and directories that contain a plugin of the same name, as `plugin new` makes them.
func (*Dialect) Examine(env dialect.Env) []dialect.Problem {
	problems := dialect.ExamineFolder(folder(env))
	for _, path := range list(env) {
		if !dialect.Executable(path) && dialect.IsScript(path) {
			problems = append(problems, dialect.Problem{Path: path,
				Message: "this script is not executable, so it is ignored", Fix: "chmod +x " + path})
		}
	}
	entries, _ := os.ReadDir(folder(env)) // ExamineFolder reports the error
	for _, e := range entries {
		dir := filepath.Join(folder(env), e.Name())
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && dialect.Executable(filepath.Join(dir, e.Name())) {
			problems = append(problems, dialect.Problem{Path: dir,
				Message: "this directory is ignored, because the plugins here are files; the file " + e.Name() + " in it looks like a plugin",
				Fix:     "move the directory to another place, and install it from there: patchbay plugin install DIRECTORY"})
		}
	}
	return problems
}

// folder returns the plugins folder: $SCAFFOLD_HOME/plugins, by default ~/.local/scaffold/plugins.
func folder(env dialect.Env) string {
	if home := env.Get("SCAFFOLD_HOME"); home != "" {
		return filepath.Join(home, "plugins")
	}
	return env.InHome(".local", "scaffold", "plugins")
}

// list returns every file in the folder except hidden ones. A missing folder is fine:
// docs/protocols/scaffold.md, row S26.
func list(env dialect.Env) []string { return dialect.FilesIn(folder(env)) }

// at describes the plugin at a path. Its name is that of its file until the handshake.
func at(path string) dialect.Found {
	base := filepath.Base(path)
	name := strings.TrimSuffix(base, filepath.Ext(base))
	return dialect.Found{Dialect: Name, Name: name, Place: name, Path: path}
}
