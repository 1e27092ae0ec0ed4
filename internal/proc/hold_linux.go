package proc

import (
	"errors"
	"log/slog"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/program"
)

// A hold starts programs for one group.
type hold struct {
	impossible atomic.Bool // holding was refused once, so it is not tried again
}

// start starts a program and holds it before its first instruction until born has returned.
//
// The child must be marked before it can fork. A process that it forks unmarked, twice and in its
// own session, is never found again. On a busy machine a program is sometimes faster than its host:
// in one start of eighty, with three programs competing for two processors. Go runs no code of this
// package between fork and exec. But it can ask the kernel to stop the child at its exec, as for a
// debugger, from which the host then detaches at once. That costs some twenty microseconds. If the
// host ends in between, the stopped child ends too.
func (h *hold) start(log *slog.Logger, c program.Command, attr *os.ProcAttr, born func(pid int)) (*os.Process, error) {
	if c.Privileged || h.impossible.Load() {
		return startFree(c, attr, born)
	}
	proc, err := startTraced(c, attr, born)
	if err == nil || !forbidden(err) {
		return proc, err
	}
	// Either this program may not be started, or no program may be traced here: the host is itself
	// being debugged, or a policy forbids it. The second attempt shows which.
	proc, err = startFree(c, attr, born)
	if err == nil && !h.impossible.Swap(true) {
		log.Debug("processes cannot be held at their start: one that forks at once may not be marked")
	}
	return proc, err
}

// startTraced starts a program and stops it at its exec. All of that must happen on one thread,
// because the kernel takes the thread for the debugger.
func startTraced(c program.Command, attr *os.ProcAttr, born func(pid int)) (*os.Process, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	attr.Sys.Ptrace = true
	proc, err := os.StartProcess(c.Path, c.Argv, attr)
	attr.Sys.Ptrace = false
	if err != nil {
		return nil, err
	}
	awaitStop(proc.Pid)
	born(proc.Pid)
	_ = unix.PtraceDetach(proc.Pid) // fails if the process was killed meanwhile
	return proc, nil
}

// awaitStop waits for the stop at the exec, or for the end of a child that was killed before it. It
// does not reap the child.
func awaitStop(pid int) {
	var info unix.Siginfo
	for errors.Is(unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}

// forbidden reports whether an error may mean that tracing is refused. The program itself may cause
// the same errors.
func forbidden(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EIO)
}
