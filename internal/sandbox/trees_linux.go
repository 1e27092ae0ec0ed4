package sandbox

import (
	"cmp"
	"os"
	"slices"

	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

// explain records why something is mounted. If there are several reasons, the first one counts.
func (d *draft) explain(m jail.Mount, because string) {
	if d.because == nil {
		d.because = make(map[string]string)
	}
	if path := treePath(m); d.because[path] == "" {
		d.because[path] = because
	}
}

// treePath returns the path by which people know a mount: the source of a bind mount, the target of
// any other.
func treePath(m jail.Mount) string {
	if m.Kind == jail.Bind {
		return m.Source
	}
	return m.Target
}

// listTrees lists the trees that the process sees, each once.
func (d *draft) listTrees() []Tree {
	trees := slices.Clone(d.absent)
	for _, m := range d.Mounts {
		t := Tree{Path: treePath(m), Access: accessOf(m), Because: d.because[treePath(m)]}
		if isTree(m) && !slices.Contains(trees, t) {
			trees = append(trees, t)
		}
	}
	slices.SortStableFunc(trees, func(a, b Tree) int { return cmp.Compare(a.Path, b.Path) })
	return trees
}

// isTree reports whether a mount is worth listing: a directory in memory, /proc, or a file or
// directory that exists outside.
func isTree(m jail.Mount) bool {
	if m.Kind != jail.Bind {
		return m.Kind == jail.Temp || m.Kind == jail.Proc
	}
	return exists(m.Source) && (m.Source != hidden || m.Target == hidden)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func accessOf(m jail.Mount) Access {
	switch {
	case m.Write, m.Kind == jail.Temp:
		return Write
	case m.Exec:
		return Execute
	}
	return Read
}

// nameFiles are the files in which programs look up users and hosts. Without namespaces the real
// ones are used.
var nameFiles = []string{"/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/resolv.conf", "/etc/host.conf"}

// simpleTrees lists the trees of a sandbox without namespaces. Nothing in it is in memory, and
// /proc and nameFiles are the system's.
func (d *draft) simpleTrees(private string) []Tree {
	trees := []Tree{{private, Write, "its own, on disk until it ends"}}
	for _, t := range d.listTrees() {
		if t.Because == BecauseMemory {
			continue
		}
		if t.Path == "/proc" {
			t.Because = BecauseSystem
		}
		trees = append(trees, t)
	}
	for _, name := range nameFiles {
		if path := realPath(name); exists(path) && !slices.ContainsFunc(trees, func(t Tree) bool { return t.Path == path }) {
			trees = append(trees, Tree{path, Read, BecauseSystem})
		}
	}
	slices.SortStableFunc(trees, func(a, b Tree) int { return cmp.Compare(a.Path, b.Path) })
	return trees
}
