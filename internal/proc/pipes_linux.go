package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeSize is what stdin and stdout of a long-lived process are grown to, so that a message of
// usual size is one write and one wake-up. It is what an unprivileged user may ask for
// (fs.pipe-max-size).
const pipeSize = 1 << 20

// growPipe enlarges a pipe as far as the system lets us; it works as well without.
func growPipe(f *os.File) {
	conn, err := f.SyscallConn() // not Fd, which would make the pipe blocking
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
}

// pipeToChild makes a pipe for the child to read from.
func pipeToChild() (child, host *os.File, err error) {
	read, write, err := rawPipe()
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(read), "stdin"), polled(write, "stdin"), nil
}

// pipeFromChild makes a pipe for the child to write to.
func pipeFromChild() (host, child *os.File, err error) {
	read, write, err := rawPipe()
	if err != nil {
		return nil, nil, err
	}
	return polled(read, "output"), os.NewFile(uintptr(write), "output"), nil
}

// rawPipe makes a pipe of which neither end is known to the runtime's poller yet. os.Pipe
// introduces both, and the child's end has to be taken back again: six system calls a pipe for
// nothing.
func rawPipe() (read, write int, err error) {
	var ends [2]int
	err = unix.Pipe2(ends[:], unix.O_CLOEXEC)
	return ends[0], ends[1], os.NewSyscallError("pipe2", err)
}

// polled makes a file of our end, on which deadlines work.
func polled(fd int, name string) *os.File {
	_ = unix.SetNonblock(fd, true) // cannot fail on a pipe; else reads block a thread, no more
	return os.NewFile(uintptr(fd), name)
}
