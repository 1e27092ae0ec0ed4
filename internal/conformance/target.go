package conformance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/dialect/dotagent"
	"github.com/patchbay-dev/patchbay/internal/dialect/kaged"
	"github.com/patchbay-dev/patchbay/internal/dialect/mine"
	"github.com/patchbay-dev/patchbay/internal/dialect/python"
	"github.com/patchbay-dev/patchbay/internal/dialect/scaffold"
)

// A Target is what is tested.
type Target struct {
	Dialect string
	Name    string
	Path    string        // its file or directory, absolute; empty for an MCP server
	Found   dialect.Found // as its dialect sees it; empty for an MCP server

	Command []string // an MCP server: its program and arguments
	Env     []string // an MCP server: variables of its own, "NAME=value"
	Dir     string   // an MCP server: where relative paths in its command count from
}

// confinable tells whether plugins of the dialect declare what they need.
func (t *Target) confinable() bool { return t.Dialect == kaged.Name || t.Dialect == mine.Name }

// Server is an MCP server that is a program.
func Server(name string, command, env []string, dir string) Target {
	if name == "" {
		name = filepath.Base(command[0])
	}
	return Target{Dialect: "mcp", Name: name, Command: command, Env: env, Dir: dir}
}

// The errors of At.
var (
	ErrNoPlugin  = errors.New("there is no plugin")
	ErrAmbiguous = errors.New("there is more than one plugin")
)

// At finds out what is at a path: a plugin's directory or file, or a directory with one plugin in it. only is the dialect to take it for; empty:
// the first that recognises it.
func At(path, only string, env dialect.Env) (Target, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return Target{}, err
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Target{}, fmt.Errorf("%w at %s: no such file or directory", ErrNoPlugin, path)
	}
	if err != nil {
		return Target{}, err
	}
	if t, ok := recognise(path, only, env); ok {
		return t, nil
	}
	if !info.IsDir() {
		return Target{}, fmt.Errorf("%w at %s: it is neither executable nor a Python file", ErrNoPlugin, path)
	}
	return within(path, only, env)
}

// recognise takes a path for a plugin of the first dialect that knows it.
func recognise(path, only string, env dialect.Env) (Target, bool) {
	if only == "mcp" {
		return Server(filepath.Base(path), []string{path}, nil, filepath.Dir(path)), dialect.Executable(path)
	}
	for _, d := range recognisers() {
		if only != "" && only != d.Name() {
			continue
		}
		if f, ok := d.At(path, env); ok {
			return Target{Dialect: f.Dialect, Name: f.Name, Path: f.Path, Found: f}, true
		}
	}
	return Target{}, false
}

// recognisers are the dialects by which a path is known, in the order of the host's own list.
func recognisers() []dialect.Dialect {
	return []dialect.Dialect{dotagent.New(), mine.New(), kaged.New(), python.New(), scaffold.New()}
}

// within finds the one plugin in a directory that has no manifest: its README and its tests lie beside it. The file that is called like the
// directory counts first.
func within(dir, only string, env dialect.Env) (Target, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return Target{}, err
	}
	var all []Target
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || aside(name) && name != filepath.Base(dir) {
			continue
		}
		if t, ok := recognise(filepath.Join(dir, name), only, env); ok && t.Path != "" {
			all = append(all, t)
		}
	}
	return pick(dir, all)
}

// aside tells files that lie beside a plugin: its tests, and scripts that build it.
func aside(name string) bool {
	stem := strings.TrimSuffix(name, filepath.Ext(name))
	return strings.HasPrefix(stem, "test") || strings.HasSuffix(stem, "_test") || strings.HasSuffix(stem, "-test") || strings.HasSuffix(stem, ".test") ||
		stem == "build" || stem == "Makefile"
}

// pick is the one of several that is meant.
func pick(dir string, all []Target) (Target, error) {
	for _, likely := range []func(Target) bool{
		func(t Target) bool { return t.Dialect == dotagent.Name },
		func(t Target) bool { return t.Name == filepath.Base(dir) },
		func(Target) bool { return true },
	} {
		some := slices.DeleteFunc(slices.Clone(all), func(t Target) bool { return !likely(t) })
		if len(some) == 1 {
			return some[0], nil
		}
	}
	if len(all) == 0 {
		return Target{}, fmt.Errorf("%w in %s: no manifest, and no file that is executable or Python", ErrNoPlugin, dir)
	}
	var names []string
	for _, t := range all {
		names = append(names, filepath.Base(t.Path))
	}
	return Target{}, fmt.Errorf("%w in %s: %s", ErrAmbiguous, dir, strings.Join(names, ", "))
}
