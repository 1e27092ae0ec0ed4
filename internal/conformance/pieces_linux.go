package conformance

import (
	"os"

	"golang.org/x/sys/unix"
)

// unread is how many bytes stand in a pipe that its reader has not taken yet; 0 where that is not
// known.
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
