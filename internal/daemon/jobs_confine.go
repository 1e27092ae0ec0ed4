package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// confiner makes the sandboxes of agents: everything can be read and executed, and of changes and of the network only what the
// manifest lists. What this system cannot enforce is an error: the agent then does not run. token is whether the daemon asks its callers for one.
func confiner(procs *proc.Group, token bool, log *slog.Logger) func(context.Context, []capability.Capability) (proc.Box, error) {
	system := sync.OnceValue(func() *sandbox.System {
		found := sandbox.Probe(context.Background(), procs)
		found.Token = token
		return found
	})
	return func(_ context.Context, grants []capability.Capability) (proc.Box, error) {
		for _, v := range system().Judge(grants) {
			if v.Status == sandbox.NotEnforced {
				return nil, fmt.Errorf("[security] cannot be enforced here: %s: %s; take the restriction out, or set sandbox = \"kaged\"", v.Capability, v.Reason)
			}
		}
		return sandbox.New(sandbox.Options{Grants: grants, ReadAll: true, System: system(), Log: log, OnDenied: func(d sandbox.Denial) {
			log.Warn("denied by the sandbox", "what", d.What, "grant", d.Capability)
		}}), nil
	}
}
