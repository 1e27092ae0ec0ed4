//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// inForeground reports whether this process may read from a terminal. A read from the background
// would stop the process.
func inForeground(terminal *os.File) bool {
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
