package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/adapter"
	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/internal/filelock"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// ownServers is the directory, below the state directory, in which each running `patchbay mcp` has
// a file. The server keeps the file locked, so that the file of a dead one is recognised.
const ownServers = "mcp"

// The words in the name of such a file that say what the server offers.
const (
	wordBuiltin = "builtin"
	wordMethods = "methods"
)

// announceWait is how long [Core.AnnounceMCP] waits for a process that looks at its file.
const announceWait = time.Second

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
	path := filepath.Join(dir, strings.Join(words, "."))
	f, err := filelock.OpenWithin(path, announceWait)
	if err != nil {
		return nil, err
	}
	return func() {
		_ = os.Remove(path) // an unlocked file that is left does not count
		_ = f.Close()
	}, nil
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
		f, err := filelock.Open(filepath.Join(dir, file.Name()))
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
