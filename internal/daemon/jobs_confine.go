package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/places"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// confiner returns a function that makes the sandboxes of agents. An agent may read and execute
// everything. It may change files and use the network only as its manifest says. The function
// returns an error if this system cannot enforce that, and the agent does not run.
func (c *Core) confiner(environ []string) func(context.Context, []capability.Capability, []string) (proc.Box, error) {
	token := !c.Config().Server.Token.Empty() // the server keeps the token that it started with
	system := sync.OnceValue(func() *sandbox.System {
		found := sandbox.Probe(context.Background(), c.procs)
		found.Token = token
		return found
	})
	return func(_ context.Context, grants []capability.Capability, lent []string) (proc.Box, error) {
		if c.Config().Sandbox != config.SandboxDeclared {
			return nil, nil // [security] is not enforced
		}
		for _, v := range system().Judge(grants) {
			if v.Status == sandbox.NotEnforced {
				return nil, fmt.Errorf("[security] cannot be enforced here: %s: %s; remove the restriction, or set sandbox = \"kaged\"", v.Capability, v.Reason)
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
				c.log.Warn("denied by the sandbox", "what", d.What, dialect.GrantKey, d.Capability)
			}}), nil
	}
}

// pluginDirs returns the directories that are searched for plugins or contain some, and the paths
// of the plugins.
func (c *Core) pluginDirs(environ []string) (dirs, found []string) {
	dirs = pluginhost.Searched(environ)
	for _, p := range c.Host.Plugins() {
		dirs, found = append(dirs, filepath.Dir(p.Path)), append(found, p.Path)
	}
	return dirs, found
}
