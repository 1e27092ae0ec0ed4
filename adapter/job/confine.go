package job

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// Restricts tells whether the table leaves an agent less than everything, of what a sandbox can withhold.
func (s Security) Restricts() bool { return s.Network.Restricted || len(s.FilesystemWritable) > 0 }

// Grants is the table in the words of the sandbox: what may be changed, and who may be talked to. Reading and
// executing it does not restrict.
func (s Security) Grants() ([]capability.Capability, error) {
	var grants []capability.Capability
	if len(s.FilesystemWritable) == 0 {
		grants = append(grants, capability.Capability{Kind: capability.WriteFS, Path: "/"})
	}
	for _, path := range s.FilesystemWritable {
		grants = append(grants, capability.Capability{Kind: capability.WriteFS, Path: path})
	}
	switch {
	case !s.Network.Restricted:
		grants = append(grants, capability.Capability{Kind: capability.NetAny})
	case len(s.Network.Hosts) == 0:
		grants = append(grants, capability.Capability{Kind: capability.NetNone})
	}
	for _, host := range s.Network.Hosts {
		g, err := hostGrant(host)
		if err != nil {
			return nil, fmt.Errorf("security.network: %w", err)
		}
		grants = append(grants, g)
	}
	return grants, nil
}

// hostGrant is a host of the list: all its ports, or the one it names.
func hostGrant(host string) (capability.Capability, error) {
	if strings.Count(host, ":") > 1 && !strings.HasPrefix(host, "[") {
		host = "[" + host + "]" // an IPv6 address
	}
	if _, _, named := strings.Cut(host[strings.LastIndexByte(host, ']')+1:], ":"); !named {
		host += ":*"
	}
	return capability.Parse("net:" + host)
}

// box is the sandbox of the agent's program, nil where its manifest restricts nothing or nobody holds it to that. Its own directories
// may always be changed.
func (a *attempt) box(ctx context.Context, tmp string) (proc.Box, error) {
	if a.runner.Confine == nil || !a.manifest.Security.Restricts() {
		return nil, nil
	}
	grants, err := a.manifest.Security.Grants()
	if err != nil {
		return nil, err
	}
	lent := a.belowManifest(grants)
	own := []string{tmp}
	if a.runner.StateDir != "" {
		own = append(own, filepath.Join(a.runner.StateDir, a.manifest.Slug()))
	}
	for _, dir := range own {
		grants = append(grants, capability.Capability{Kind: capability.WriteFS, Path: dir})
	}
	return a.runner.Confine(ctx, grants, append(lent, own...))
}

// belowManifest are the grants that lie in the agent's own directory and are not that directory itself: its manifest is in there.
func (a *attempt) belowManifest(grants []capability.Capability) []string {
	var below []string
	for _, g := range grants {
		if rel, err := filepath.Rel(a.manifest.Dir, g.Path); err == nil && g.Path != "" && rel != "." && filepath.IsLocal(rel) {
			below = append(below, g.Path)
		}
	}
	return below
}
