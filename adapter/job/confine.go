package job

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// Restricts reports whether the table restricts something that a sandbox can enforce: files or
// network.
func (s Security) Restricts() bool { return s.Network.Restricted || len(s.FilesystemWritable) > 0 }

// grants returns the table as capabilities of the sandbox: the paths that the agent may write and
// the hosts that it may reach. The table does not restrict reading and executing.
func (s Security) grants() ([]capability.Capability, error) {
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

// hostGrant returns the capability for a host of the list: for all ports, or for the port that the
// host names.
func hostGrant(host string) (capability.Capability, error) {
	if strings.Count(host, ":") > 1 && !strings.HasPrefix(host, "[") {
		host = "[" + host + "]" // an IPv6 address
	}
	if _, _, named := strings.Cut(host[strings.LastIndexByte(host, ']')+1:], ":"); !named {
		host += ":*"
	}
	return capability.Parse("net:" + host)
}

// box returns the sandbox of the agent's program. It returns nil if the manifest restricts nothing
// or if sandboxes are off. The program may always write to its own directories.
func (a *attempt) box(ctx context.Context, tmp string) (proc.Box, error) {
	if a.runner.Confine == nil || !a.manifest.Security.Restricts() {
		return nil, nil
	}
	grants, err := a.manifest.Security.grants()
	if err != nil {
		return nil, err
	}
	lent, err := a.belowManifest(grants)
	if err != nil {
		return nil, err
	}
	own := []string{tmp}
	if a.runner.StateDir != "" {
		own = append(own, filepath.Join(a.runner.StateDir, a.manifest.Slug()))
	}
	for _, dir := range own {
		grants = append(grants, capability.Capability{Kind: capability.WriteFS, Path: dir})
	}
	return a.runner.Confine(ctx, grants, append(lent, own...))
}

// belowManifest returns the granted paths that lie in the agent's own directory after symbolic
// links are followed. It leaves out the directory itself and every path that contains the manifest,
// because a manifest that the agent changed would count at the next run. A grant that leaves the
// directory by a symbolic link among the agent's own files is an error, because the manifest would
// not show what it grants.
func (a *attempt) belowManifest(grants []capability.Capability) ([]string, error) {
	dir, manifest := realPath(a.manifest.Dir), realPath(a.manifest.Path)
	var lent []string
	for _, g := range grants {
		if g.Kind != capability.WriteFS {
			continue
		}
		real := realPlace(g.Path)
		switch {
		case below(g.Path, a.manifest.Dir) && !below(real, dir):
			return nil, fmt.Errorf("security.filesystem_writable: %s leads to %s by a symbolic link among the agent's own files; to allow that, list the path that it leads to", g.Path, real)
		case below(real, dir) && real != manifest && !below(manifest, real):
			lent = append(lent, g.Path)
		}
	}
	return lent, nil
}

// below reports whether path lies in dir and is not dir itself.
func below(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}

// realPlace returns the path with symbolic links followed. The last element of the path need not
// exist.
func realPlace(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Join(realPath(filepath.Dir(path)), filepath.Base(path))
}
