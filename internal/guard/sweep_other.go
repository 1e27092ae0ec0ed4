//go:build unix && !linux

package guard

import "syscall"

// GroupAlive reports whether a process group has a member that can be signalled.
func GroupAlive(pgid int) bool {
	return syscall.Kill(-pgid, 0) == nil
}

// Unmark does nothing: there are no marks on this system.
func Unmark(int) {}

func unmarkAndName() {}
