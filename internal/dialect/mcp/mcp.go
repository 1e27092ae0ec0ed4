package mcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/mcpcall"
)

// Name is the dialect's name.
const Name = "mcp"

// A Server is one [[mcp]] table, its secrets filled in.
type Server struct {
	Name    string
	Command []string          // the program and its arguments; nil: the server is at URL
	Env     map[string]Hidden // variables of the program
	URL     string
	Headers map[string]Hidden // sent with every request to URL
	Prefix  string            // precedes the names of its tools and prompts

	Err error // why it cannot be used, e.g. a missing secret
}

// Hidden returns a value that may be a secret. It is a function so that the value is never printed
// by accident. Functions cannot be compared; [Server.Same] compares the values.
type Hidden func() string

// Same reports whether two tables have the same content.
func (s *Server) Same(o *Server) bool {
	return s.Name == o.Name && s.URL == o.URL && s.Prefix == o.Prefix && equal(s.Command, o.Command) &&
		same(s.Env, o.Env) && same(s.Headers, o.Headers) && (s.Err == nil) == (o.Err == nil)
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func same(a, b map[string]Hidden) bool {
	if len(a) != len(b) {
		return false
	}
	for name, value := range a {
		if other, ok := b[name]; !ok || other() != value() {
			return false
		}
	}
	return true
}

// Found describes the server as Find of another dialect would.
func (s *Server) Found() dialect.Found {
	f := dialect.Found{Dialect: Name, Name: s.Name, Place: s.Name, Path: Name + ":" + s.Name, Manifest: s}
	if s.Err != nil {
		f.State, f.Err = dialect.Broken, s.Err
	}
	return f
}

// A Dialect opens MCP servers. It finds none on disk: they are in the configuration.
type Dialect struct {
	remote mcpcall.Remote // nil: servers at an address cannot be reached
}

// New returns the dialect.
func New(remote mcpcall.Remote) *Dialect { return &Dialect{remote} }

// Name implements [dialect.Dialect].
func (*Dialect) Name() string { return Name }

// Folders returns none: servers are in the configuration.
func (*Dialect) Folders(dialect.Env) []dialect.Folder { return nil }

// Points returns none: an MCP server has no hooks.
func (*Dialect) Points() []hook.Point { return nil }

// Find returns none: servers are in the configuration.
func (*Dialect) Find(dialect.Env) []dialect.Found { return nil }

// At accepts no file.
func (*Dialect) At(string, dialect.Env) (dialect.Found, bool) { return dialect.Found{}, false }

// Open connects to a server and reads its lists.
func (d *Dialect) Open(ctx context.Context, f dialect.Found, s dialect.Settings, rt *dialect.Runtime) (dialect.Plugin, error) {
	server, ok := f.Manifest.(*Server)
	if !ok || f.State != "" {
		return nil, unopened(f.Name, fmt.Errorf("it is %s: %w", f.State, f.Err))
	}
	if server.URL != "" && d.remote == nil {
		return nil, unopened(f.Name, errors.New("this program has no HTTP client, and the server is at an address"))
	}
	rt.NoConfig(Name, server.Name, dialect.Settings{Config: s.Config})
	rt.NoSecrets(Name, server.Name, s, `write each secret as NAME = "…" above all tables, and ${NAME} in env or headers of the [[mcp]] table`)
	p := newPlugin(server, s, rt)
	p.remote = d.remote
	if err := p.open(ctx); err != nil {
		return nil, named(p.server.Name, err)
	}
	return p, nil
}

// unopened returns the error of a server that could not be opened.
func unopened(plugin string, err error) error {
	return &hook.Error{Plugin: plugin, Dialect: Name, Kind: hook.Unavailable, Err: err}
}

// named adds the plugin's name to an error.
func named(plugin string, err error) error {
	if e, ok := errors.AsType[*hook.Error](err); ok {
		with := *e
		with.Plugin, with.Dialect = plugin, Name
		return &with
	}
	return unopened(plugin, err)
}
