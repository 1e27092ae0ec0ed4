package limits

import (
	"fmt"
	"os"
	"path/filepath"
)

// BareCgroups makes a cgroup of this name below the host's own, and hands out cgroups below that
// one. It hands no controller down, so that no limit is kept by them. Tests see with it what
// becomes of processes in a cgroup, on machines too whose controllers are in cgroups of version 1.
// The caller removes dir, after Close.
func BareCgroups(name string) (s *Cgroups, dir string, err error) {
	own, err := ownCgroup("/")
	if err != nil {
		return nil, "", err
	}
	if err := canJoin(); err != nil {
		return nil, "", err
	}
	dir = filepath.Join(own, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, "", fmt.Errorf("no cgroup to be divided here: %w", err)
	}
	s = &Cgroups{tree: &cgroupTree{root: "/", dir: dir, host: os.Getpid()}}
	s.once.Do(func() {}) // it is found
	return s, dir, nil
}
