package wire

import (
	"os"
	"syscall"
)

const (
	setPipeSize = 1031    // F_SETPIPE_SZ, which package syscall does not name
	pipeSize    = 1 << 20 // /proc/sys/fs/pipe-max-size by default: all that a process without privileges gets
)

// growPipe lets the pipe take a large message at once, where 64 KiB would cost a wake-up for every
// 64 KiB. It is a wish: a user with very many pipes is refused, and everything works as well, only
// slower.
func growPipe(f *os.File) {
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, fd, setPipeSize, pipeSize)
	})
}
