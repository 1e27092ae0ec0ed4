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

// isTree reports whether a mount shows something: a directory in memory, processes, or a part of the outside that is there.
func isTree(m jail.Mount) bool {
	if m.Kind != jail.Bind {
		return m.Kind == jail.Temp || m.Kind == jail.Proc
	}
	_, err := os.Lstat(m.Source)
	return err == nil && (m.Source != hidden || m.Target == hidden)
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
