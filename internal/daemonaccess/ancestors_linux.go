package daemonaccess

import (
	"fmt"
	"os"
	"time"
)

// tries is how often the ancestors of a process are read if they change meanwhile. The pauses grow
// from 1 to 64 ms.
const tries = 8

// Peer returns nil if a process is in none of Patchbay's sandboxes. pid is the process at the other
// end of a Unix socket; 0 stands for one that this process cannot see.
func Peer(pid int) error {
	if pid <= 0 {
		return unknown("its process is in another process namespace")
	}
	own, err := ancestorsOf(os.Getpid())
	if err != nil {
		return unknown(err.Error())
	}
	return outside(pid, own)
}

// outside returns nil if no ancestor of a process is a jail. Ancestors of the server itself do not
// count: it may run in a sandbox too.
func outside(pid int, own map[int]bool) error {
	var err error
	for try := range tries {
		var moved bool
		if moved, err = climb(pid, own); !moved {
			return err
		}
		time.Sleep(time.Millisecond << max(0, try-1)) // a process takes a moment to end: it loses its name before its children are reparented
	}
	return err
}

// climb goes from a process up to the first process of the machine. moved is true if a parent has
// ended meanwhile, or is about to. The error then says nothing about the process, because the
// parent's pid may belong to another process by now.
func climb(pid int, own map[int]bool) (moved bool, err error) {
	for at, child := pid, 0; at != 0 && !own[at]; {
		s, name, err := statusAndName(at)
		switch {
		case child != 0 && !isChild(child, at):
			return true, unknown("its ancestors change too fast")
		case isHidden(err) && child != 0:
			return false, nil
		case isGone(err):
			return false, unknown("its process is gone")
		case err != nil:
			return false, unknown(err.Error())
		case isJail(name):
			return false, &Refusal{Inside: true, Reason: "the caller is in a sandbox of Patchbay's"}
		case name == "" && child != 0: // a process that is ending, perhaps a jail, has no name any more
			return true, unknown(fmt.Sprintf("process %d, one of its ancestors, has no name any more", at))
		}
		at, child = s.parent, at
	}
	return false, nil
}

// statusAndName returns the status and the name of a process.
func statusAndName(pid int) (status, string, error) {
	s, err := statusOf(pid)
	if err != nil {
		return status{}, "", err
	}
	name, err := nameOf(pid)
	return s, name, err
}

func isChild(pid, parent int) bool {
	s, err := statusOf(pid)
	return err == nil && s.parent == parent
}

// ancestorsOf returns a process and all its ancestors.
func ancestorsOf(pid int) (map[int]bool, error) {
	all := make(map[int]bool)
	for at := pid; at != 0; {
		s, err := statusOf(at)
		all[at] = true
		if isHidden(err) && at != pid {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		at = s.parent
	}
	return all, nil
}
