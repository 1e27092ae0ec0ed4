package jail

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// init turns a process started as one of the two into it, before any main can run. See the package comment for why this
// is an init function.
func init() {
	if len(os.Args) != 2 || os.Args[0] != Outer && os.Args[0] != Inner {
		return
	}
	runtime.LockOSThread() // namespaces, rights and the parent-death signal are a thread's own
	files, err := strconv.Atoi(os.Args[1])
	if err != nil || files < 0 {
		os.Exit(exitMisused)
	}
	// Signals to the group are for the program. They are caught, not ignored: what is ignored stays so in what is started.
	signal.Notify(make(chan os.Signal, 1))
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	s := &stage{files: files, control: 3 + files, plan: os.NewFile(uintptr(4+files), "plan")}
	if os.Args[0] == Outer {
		s.outer()
	}
	s.inner()
}

// exitMisused is the exit code of a process under one of the names that nobody planned.
const exitMisused = 2

// stage is one of the two processes.
type stage struct {
	files   int // descriptors of the program beyond the standard ones
	control int // the socket to the host
	plan    *os.File
	notes   []string
}

// fault is what went wrong, and while doing what.
type fault struct {
	stage string
	err   error
}

func (f *fault) Error() string { return f.stage + ": " + f.err.Error() }

func (f *fault) Unwrap() error { return f.err }

// while names what was being done when an error came.
func while(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &fault{stage: fmt.Sprintf(format, args...), err: err}
}

// fail tells the host what went wrong and ends the process. A host that is not there any more need not be told.
func (s *stage) fail(err error) {
	r := Report{Error: err.Error()}
	if f, ok := errors.AsType[*fault](err); ok {
		r.Stage, r.Error = f.stage, f.err.Error()
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		r.Errno = int(errno)
	}
	_ = s.report(r)
	syscall.Exit(1)
}

// report sends one message to the host, with descriptors where it has some.
func (s *stage) report(r Report, fds ...int) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return sendMessage(s.control, text, fds)
}

// sendMessage sends one datagram with descriptors.
func sendMessage(socket int, text []byte, fds []int) error {
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	return unix.Sendmsg(socket, text, rights, nil, unix.MSG_NOSIGNAL)
}

// endAs ends this process the way another one ended.
func endAs(status syscall.WaitStatus) {
	if !status.Signaled() {
		syscall.Exit(status.ExitStatus())
	}
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) // a core of this process would say nothing of that one
	signal.Reset(status.Signal())
	_ = unix.Kill(unix.Getpid(), status.Signal())
	syscall.Exit(128 + int(status.Signal())) // a signal that does not end us
}
