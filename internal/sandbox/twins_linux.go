package sandbox

import (
	"path/filepath"
	"slices"
)

// binDirs are the directories of the system's programs. On most systems some of them are links to
// others.
var binDirs = []string{"/bin", "/usr/bin", "/sbin", "/usr/sbin"}

// mountOtherPaths makes a program of the system available at its other paths that lead to the same
// file. A plugin that may start /usr/bin/sh may also start /bin/sh, the path that scripts and
// system(3) use.
func (p *planner) mountOtherPaths(because string, s start, w way) {
	if !slices.Contains(binDirs, filepath.Dir(s.path)) {
		return
	}
	for _, dir := range binDirs {
		twin := walk(filepath.Join(dir, filepath.Base(s.path)))
		if twin.exists() && twin.end == w.end && p.origins.check(twin) == nil {
			p.mountLinks(because, twin)
		}
	}
}
