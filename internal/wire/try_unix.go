//go:build unix

package wire

import (
	"io"
	"os"
	"syscall"
)

// A try reads and writes a pipe with as few system calls as possible. Its Write, and the Read of an
// [atOnce], make one system call, and return errWouldBlock if it would have waited. Its Read waits;
// linger.go says how. Only one goroutine at a time may read, and one write.
type try struct {
	linger
	conn    syscall.RawConn
	p       []byte // the argument of the call under way
	n       int    // its result
	err     error
	onRead  func(uintptr) bool // the methods read, readAtOnce and write, bound once so that a call does not allocate
	onTry   func(uintptr) bool
	onWrite func(uintptr) bool
}

// An atOnce is a try whose Read does not wait.
type atOnce try

// newTry returns false if the file cannot be used without waiting.
func newTry(f *os.File) (*try, bool) {
	conn, err := f.SyscallConn()
	if err != nil || f.SetDeadline(noDeadline) != nil { // a file without deadlines blocks
		return nil, false
	}
	var blocks error // other code may have called Fd, which makes the file block
	err = conn.Control(func(fd uintptr) { blocks = syscall.SetNonblock(int(fd), true) })
	if err != nil || blocks != nil {
		return nil, false
	}
	t := &try{conn: conn}
	t.onRead = t.read
	t.onTry = t.readAtOnce
	t.onWrite = t.write
	return t, true
}

// read returns false if it must be called again when there is input. Input that arrives between its
// system call and the wait is not missed: the poller was armed before the call.
func (t *try) read(fd uintptr) bool {
	t.n, t.err = again(syscall.Read, fd, t.p)
	if wouldBlock(t.err) && t.wait(fd) {
		t.n, t.err = again(syscall.Read, fd, t.p)
	}
	return !wouldBlock(t.err)
}

func (t *try) readAtOnce(fd uintptr) bool {
	t.n, t.err = again(syscall.Read, fd, t.p)
	return true
}

func (t *try) write(fd uintptr) bool {
	t.n, t.err = again(syscall.Write, fd, t.p)
	return true
}

func (t *try) Read(p []byte) (int, error) {
	n, err := t.readBy(t.onRead, p)
	t.waited()
	return n, err
}

func (t *atOnce) Read(p []byte) (int, error) { return (*try)(t).readBy(t.onTry, p) }

func (t *try) readBy(step func(uintptr) bool, p []byte) (int, error) {
	t.p = p
	if err := t.conn.Read(step); err != nil {
		return 0, err
	}
	if t.n == 0 && t.err == nil {
		return 0, io.EOF
	}
	return t.result()
}

func (t *try) Write(p []byte) (int, error) {
	t.p = p
	if err := t.conn.Write(t.onWrite); err != nil {
		return 0, err
	}
	return t.result()
}

func (t *try) result() (int, error) {
	t.p = nil
	if wouldBlock(t.err) {
		return 0, errWouldBlock
	}
	return max(t.n, 0), t.err
}

// again repeats a system call that a signal interrupted.
func again(call func(int, []byte) (int, error), fd uintptr, p []byte) (int, error) {
	for {
		n, err := call(int(fd), p)
		if err != syscall.EINTR { //nolint:errorlint // an Errno, straight from the system call
			return n, err
		}
	}
}

// wouldBlock compares by value, because it is called for every read and errors.Is is slower.
func wouldBlock(err error) bool { return err == syscall.EAGAIN } //nolint:errorlint // an Errno, straight from the system call
