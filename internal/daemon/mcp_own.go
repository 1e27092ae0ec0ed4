package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter"
	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/internal/filelock"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// ownServers is the directory, below the state directory, in which each running `patchbay mcp` has
// a file. The rules for these files:
//
//   - No two servers have the same name for their file, also if they have the same pid in two
//     containers: a name is never used again, so a path always means the same file.
//   - The server locks its file for itself, as long as it lives. Then it checks that the file still
//     has its name, which a process may have removed before that; if not, it makes another one.
//   - A process that looks for servers shares the lock, so that it is not taken for a server by
//     others that look. If it gets the lock, the server is dead, and it removes the file.
const ownServers = "mcp"

// The words in the name of such a file that say what the server offers.
const (
	wordBuiltin = "builtin"
	wordMethods = "methods"
)

// announceTries is how many files [Core.AnnounceMCP] makes, at most, if each is removed before it
// is locked. A second one is hardly ever needed.
const announceTries = 100

// AnnounceMCP tells the hooks of other agents that this process serves an MCP client, until end is
// called. For a tool of our own server these hooks call no plugins, because the server calls them.
func (c *Core) AnnounceMCP(o MCPOptions) (end func(), err error) {
	dir := filepath.Join(c.Dirs.State, ownServers)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	words := []string{fmt.Sprint(os.Getpid())}
	if o.Builtin {
		words = append(words, wordBuiltin)
	}
	if o.Methods {
		words = append(words, wordMethods)
	}
	f, err := makeLocked(dir, strings.Join(words, ".")+".*")
	if err != nil {
		return nil, err
	}
	return func() {
		_ = os.Remove(f.Name()) // an unlocked file that is left does not count
		_ = f.Close()
	}, nil
}

// makeLocked makes a file with a new name and locks it.
func makeLocked(dir, pattern string) (*os.File, error) {
	for range announceTries {
		f, err := os.CreateTemp(dir, pattern)
		if err != nil {
			return nil, err
		}
		err = filelock.Try(f)
		if err == nil {
			_, err = os.Lstat(f.Name())
		}
		if err == nil {
			return f, nil
		}
		_ = f.Close()
		if !errors.Is(err, filelock.ErrLocked) && !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Join(err, os.Remove(f.Name()))
		}
	}
	return nil, fmt.Errorf("%s: another process removes every new file", dir)
}

// ownServer returns what our own MCP servers offer, all together. running is false if there is none
// with a client.
func (c *Core) ownServer() (o MCPOptions, running bool) {
	if s := c.clients.Load(); s != nil && s.Used() {
		running = true
	}
	dir := filepath.Join(c.Dirs.State, ownServers)
	files, err := os.ReadDir(dir)
	if err != nil {
		return o, running // no server was ever started
	}
	for _, file := range files {
		if !file.Type().IsRegular() {
			continue
		}
		f, err := filelock.Share(filepath.Join(dir, file.Name()))
		switch {
		case err == nil:
			_ = os.Remove(f.Name()) // its server is dead
			_ = f.Close()
		case errors.Is(err, filelock.ErrLocked):
			words := strings.Split(file.Name(), ".")
			running = true
			o.Builtin = o.Builtin || slices.Contains(words, wordBuiltin)
			o.Methods = o.Methods || slices.Contains(words, wordMethods)
		}
	}
	return o, running
}

// isOwnCall reports whether the event is a call of a tool that our own MCP server offers in this
// project. A tool of another server that merely has our name is treated like any tool.
func (e *hostEvent) isOwnCall(host *pluginhost.Host) bool {
	name := e.OwnTool()
	if name == "" {
		return false
	}
	options, running := e.ownServer()
	if !running {
		return false
	}
	offered := &mcpHost{Host: host, core: e.Core, options: options}
	return slices.ContainsFunc(offered.Tools(), func(t adapter.Tool) bool { return codehook.ShownAs(t.Name, name) })
}
