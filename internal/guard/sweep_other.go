//go:build unix && !linux

package guard

import "syscall"

// Sweep does nothing: there are no marks on this system, and no /proc to find them in.
func Sweep(Mark) int { return 0 }

// GroupAlive reports whether a process group has a member that can be signalled.
func GroupAlive(pgid int) bool {
	return syscall.Kill(-pgid, 0) == nil
}

// Unmark does nothing: there are no marks on this system.
func Unmark(int) {}

func unmarkAndName() {}
