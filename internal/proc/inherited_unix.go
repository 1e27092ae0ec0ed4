//go:build unix

package proc

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// closeOnExec sets close-on-exec on the descriptors above 2 that are listed in a directory such as
// /proc/self/fd.
func closeOnExec(list string) error {
	entries, err := os.ReadDir(list)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC) // may be closed meanwhile
		}
	}
	return nil
}
