package sandbox

import (
	"cmp"
	"os"
	"slices"

	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

// explain keeps why something is mounted. Of several reasons the first counts.
func (d *draft) explain(m jail.Mount, because string) {
	if d.because == nil {
		d.because = make(map[string]string)
	}
	if path := treePath(m); d.because[path] == "" {
		d.because[path] = because
	}
}

// treePath is where a tree comes from: what is bound, from outside; all else is made where it is.
func treePath(m jail.Mount) string {
	if m.Kind == jail.Bind {
		return m.Source
	}
	return m.Target
}

// listTrees lists what is there, each tree once, with the most that may be done to it.
func (d *draft) listTrees() []Tree {
	var trees []Tree
	for _, m := range d.Mounts {
		t := Tree{Path: treePath(m), Access: accessOf(m), Because: d.because[treePath(m)]}
		if isTree(m) && !slices.Contains(trees, t) {
			trees = append(trees, t)
		}
	}
	slices.SortStableFunc(trees, func(a, b Tree) int { return cmp.Compare(a.Path, b.Path) })
	return trees
}

// isTree reports whether a mount shows something: a directory in memory, processes, or a part of
// the outside that is there.
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

// nameFiles are the files in which programs look people and machines up. Without mounts they cannot
// be made up.
var nameFiles = []string{"/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/resolv.conf", "/etc/host.conf"}

// simpleTrees lists what is there without namespaces: nothing is in memory, and the files of names
// and of processes are the system's.
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
