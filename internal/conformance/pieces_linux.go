package conformance

import (
	"os"

	"golang.org/x/sys/unix"
)

// unread returns how many bytes in a pipe its reader has not read yet; 0 if that is unknown.
func unread(pipe *os.File) int {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return 0
	}
	n := 0
	err = conn.Control(func(fd uintptr) {
		if count, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ); err == nil {
			n = count
		}
	})
	if err != nil {
		return 0
	}
	return n
}
