package limits

import (
	"fmt"
	"os"
	"path/filepath"
)

// BareCgroups creates a cgroup of this name below the host's own, and returns a Cgroups that uses
// it. The new cgroup passes no controllers down, so the cgroups below it enforce no limits. Tests
// use it to check what happens to processes in a cgroup, also on machines whose controllers are in
// cgroups of version 1. The caller removes dir after Close.
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
		return nil, "", fmt.Errorf("no cgroup that can be divided: %w", err)
	}
	s = &Cgroups{tree: &cgroupTree{root: "/", dir: dir, host: os.Getpid()}}
	s.once.Do(func() {}) // the tree is already found
	return s, dir, nil
}
