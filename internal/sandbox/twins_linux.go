package sandbox

import (
	"path/filepath"
	"slices"
)

// binDirs are the directories of the system's programs. On most systems some of them are links to
// others.
var binDirs = []string{"/bin", "/usr/bin", "/sbin", "/usr/sbin"}

// mountTwins lets a program of the system be found at its other paths, too, where these lead to the
// same file: who may start /usr/bin/sh may start /bin/sh, which is what scripts and system(3) name.
func (p *planner) mountTwins(because string, s start, w way) {
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
