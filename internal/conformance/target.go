package conformance

import (
	"path/filepath"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/dialect/kaged"
	"github.com/patchbay-dev/patchbay/internal/dialect/mine"
	"github.com/patchbay-dev/patchbay/internal/dialect/scaffold"
	"github.com/patchbay-dev/patchbay/internal/plugindir"
)

// A Target is a plugin or an MCP server to test.
type Target struct {
	Dialect string
	Name    string
	Path    string        // its file or directory, absolute; empty for an MCP server
	Found   dialect.Found // as its dialect finds it; empty for an MCP server

	Command []string // an MCP server: its program and arguments
	Env     []string // an MCP server: its own variables, "NAME=value"
	Dir     string   // an MCP server: the directory for relative paths in its command
}

// confinable reports whether plugins of the dialect declare what they need.
func (t *Target) confinable() bool { return t.Dialect == kaged.Name || t.Dialect == mine.Name }

// Server returns the target for an MCP server that is a program.
func Server(name string, command, env []string, dir string) Target {
	if name == "" {
		name = filepath.Base(command[0])
	}
	return Target{Dialect: "mcp", Name: name, Command: command, Env: env, Dir: dir}
}

// At finds the plugin at a path: a plugin's directory or file, or a directory with one plugin in
// it. only is the dialect to use; if it is empty, At uses the first dialect that recognises the
// plugin. The errors are those of package plugindir.
func At(path, only string, env dialect.Env) (Target, error) {
	o := plugindir.Options{Environ: env.Vars}
	if only == "mcp" {
		return serverAt(path, o)
	}
	if only != "" {
		o.Dialects = []string{only}
	}
	f, err := plugindir.One(path, o)
	return Target{Dialect: f.Dialect, Name: f.Name, Path: f.Path, Found: f}, err
}

// serverAt finds the program of an MCP server. In a directory it is found as that of a scaffold
// plugin, because both may be any executable.
func serverAt(path string, o plugindir.Options) (Target, error) {
	if path, err := filepath.Abs(path); err == nil && dialect.Executable(path) {
		return Server("", []string{path}, nil, filepath.Dir(path)), nil
	}
	o.Dialects = []string{scaffold.Name}
	f, err := plugindir.One(path, o)
	if err != nil {
		return Target{}, err
	}
	return Server("", []string{f.Path}, nil, filepath.Dir(f.Path)), nil
}
