package jail

import "syscall"

// awaitPlan reports that everything is built and waits for the plan of the program. The host has
// checked that this plan has the mounts and the network that were built. Only this process can see
// whether the mounts are still in place, so awaitPlan checks that. The restrictions of the program
// come from the new plan.
func (s *stage) awaitPlan() (*Plan, error) {
	if err := s.report(Report{Built: true, Seen: s.seen, Notes: s.notes}, nil); err != nil {
		syscall.Exit(1) // the host is gone
	}
	s.notes = nil
	s.plan = <-s.plans
	if !inPlace(s.placed) {
		_ = s.report(Report{Stale: true}, nil)
		syscall.Exit(1)
	}
	plan, err := s.readPlan()
	if err != nil {
		return nil, err
	}
	// If the jail ends without this report, the host starts the program in another one.
	if err := s.report(Report{Starts: true}, nil); err != nil {
		syscall.Exit(1) // the host is gone
	}
	return plan, nil
}

// inPlace reports whether each target still has the mount that was put there, compared by id. A
// mount is attached to a directory and not to its name. If the directory is renamed outside, the
// mount moves along; if it is removed, the mount is removed too, and the inode of its source may be
// reused. Then something else is at the target. Nothing is mounted in the jail after the build, so
// an id cannot be reused for another mount.
func inPlace(placed map[string]uint64) bool {
	for target, id := range placed {
		if now, err := mountAt(target); err != nil || now != id {
			return false
		}
	}
	return true
}

// mountAt returns the id of the mount at a path, which must not contain links.
func mountAt(path string) (uint64, error) {
	fd, err := step(atFdcwd, path)
	if err != nil {
		return 0, err
	}
	defer syscall.Close(fd)
	return mountID(fd)
}

// identities returns the files that were opened for the mounts of a plan.
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
