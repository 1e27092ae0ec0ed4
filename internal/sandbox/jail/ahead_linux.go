package jail

import "syscall"

// awaitOrder says that all is built, and waits for the plan of the program that is to be started in
// it. What that plan says of mounts and network is what there is: the host has seen to it, but for
// what only this process can see. All that is given up before a program starts is given up as the
// new plan says.
func (s *stage) awaitOrder() (*Plan, error) {
	if err := s.report(Report{Built: true, Seen: s.seen, Notes: s.notes}, nil); err != nil {
		syscall.Exit(1) // the host is gone
	}
	s.notes = nil
	s.plan = <-s.orders
	if !inPlace(s.placed) {
		_ = s.report(Report{Stale: true}, nil)
		syscall.Exit(1)
	}
	return s.readPlan()
}

// inPlace reports whether at each target there is the mount that was put there, by its number. A
// mount is tied to the directory that it was put on, and not to that one's name. Whoever renames
// that directory, outside, takes the mount along, and whoever removes it removes the mount as well,
// which frees the numbers of what it had bound. Then something else is at the target. Nothing is
// mounted in here after the build, so that a number cannot come to mean another mount.
func inPlace(placed map[string]uint64) bool {
	for target, id := range placed {
		if now, err := mountAt(target); err != nil || now != id {
			return false
		}
	}
	return true
}

// mountAt is the number of the mount that is found at a path, to which no link leads.
func mountAt(path string) (uint64, error) {
	fd, err := step(atFdcwd, path)
	if err != nil {
		return 0, err
	}
	defer syscall.Close(fd)
	return mountID(fd)
}

// identities are which files were opened for the mounts of a plan.
func identities(trees []int) ([]Identity, error) {
	list := make([]Identity, len(trees))
	for i, tree := range trees {
		if tree < 0 {
			continue
		}
		var stat syscall.Stat_t
		if err := syscall.Fstat(tree, &stat); err != nil {
			return nil, err
		}
		list[i] = Identity{uint64(stat.Dev), stat.Ino} //nolint:unconvert // Dev is smaller on some machines
	}
	return list, nil
}
