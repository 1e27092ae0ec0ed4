package wire

import (
	"os"
	"syscall"
)

const (
	setPipeSize = 1031    // F_SETPIPE_SZ, which package syscall does not name
	pipeSize    = 1 << 20 // the default of /proc/sys/fs/pipe-max-size, the most that a process without privileges gets
)

// growPipe makes room in the pipe for a large message, which would otherwise cost a wake-up for
// every 64 KiB. The kernel refuses this to a user with very many pipes; then everything works, only
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
