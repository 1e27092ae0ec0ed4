package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/places"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// confiner makes the sandboxes of agents: everything can be read and executed, and of changes and
// of the network only what the manifest lists. What this system cannot enforce is an error: the
// agent then does not run.
func (c *Core) confiner(environ []string) func(context.Context, []capability.Capability, []string) (proc.Box, error) {
	token := !c.Config().Server.Token.Empty() // the server keeps the one that it began with
	system := sync.OnceValue(func() *sandbox.System {
		found := sandbox.Probe(context.Background(), c.procs)
		found.Token = token
		return found
	})
	return func(_ context.Context, grants []capability.Capability, lent []string) (proc.Box, error) {
		if c.Config().Sandbox != config.SandboxDeclared {
			return nil, nil // agents are not held to their [security]
		}
		for _, v := range system().Judge(grants) {
			if v.Status == sandbox.NotEnforced {
				return nil, fmt.Errorf("[security] cannot be enforced here: %s: %s; take the restriction out, or set sandbox = \"kaged\"", v.Capability, v.Reason)
			}
		}
		dirs, found := c.pluginDirs(environ)
		guarded, err := places.Own(c.Dirs, c.Config(), dirs, found)
		if err != nil {
			return nil, err
		}
		guarded = append(guarded, places.Projects(c.Host.Project(), grants)...)
		return sandbox.New(sandbox.Options{Grants: grants, Guarded: guarded, Lent: lent, ReadAll: true, System: system(), Log: c.log,
			OnDenied: func(d sandbox.Denial) {
				c.log.Warn("denied by the sandbox", "what", d.What, "grant", d.Capability)
			}}), nil
	}
}

// pluginDirs are the directories in which plugins are looked for, and those in which they were
// found; and the plugins themselves.
func (c *Core) pluginDirs(environ []string) (dirs, found []string) {
	dirs = pluginhost.Searched(environ)
	for _, p := range c.Host.Plugins() {
		dirs, found = append(dirs, filepath.Dir(p.Path)), append(found, p.Path)
	}
	return dirs, found
}
