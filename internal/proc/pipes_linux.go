package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeToChild creates a pipe for the child to read from.
func pipeToChild() (child, host *os.File, err error) {
	read, write, err := rawPipe()
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(read), "stdin"), polled(write, "stdin"), nil
}

// pipeFromChild creates a pipe for the child to write to.
func pipeFromChild() (host, child *os.File, err error) {
	read, write, err := rawPipe()
	if err != nil {
		return nil, nil, err
	}
	return polled(read, "output"), os.NewFile(uintptr(write), "output"), nil
}

// rawPipe creates a pipe and registers neither end with the runtime's poller. os.Pipe registers
// both, and the child's end would have to be unregistered again, which costs six system calls a
// pipe.
func rawPipe() (read, write int, err error) {
	var ends [2]int
	err = unix.Pipe2(ends[:], unix.O_CLOEXEC)
	return ends[0], ends[1], os.NewSyscallError("pipe2", err)
}

// polled makes a file of the host's end, on which deadlines work.
func polled(fd int, name string) *os.File {
	_ = unix.SetNonblock(fd, true) // cannot fail on a pipe; otherwise reads would block a thread
	return os.NewFile(uintptr(fd), name)
}
