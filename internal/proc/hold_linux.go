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

// hold starts programs for one group.
type hold struct {
	impossible atomic.Bool // programs cannot be held here: it was refused once
}

// start starts a program and holds it before its first instruction until born has returned.
//
// The child must be marked before it can fork: what it forks unmarked, twice and in a session of
// its own, is never found again, and on a busy machine a program is sometimes faster than its host
// (one start in eighty, with three programs competing for two processors). Go runs nothing of ours
// between fork and exec, but it can ask the kernel to stop the child at its exec, as for a
// debugger, and that debugger lets go at once. It costs some twenty microseconds. Should the host
// die in between, the child dies of the stop.
func (h *hold) start(log *slog.Logger, c program.Command, attr *os.ProcAttr, born func(pid int)) (*os.Process, error) {
	if c.Privileged || h.impossible.Load() {
		return startFree(c, attr, born)
	}
	proc, err := startTraced(c, attr, born)
	if err == nil || !forbidden(err) {
		return proc, err
	}
	// Either the program may not be started, or no program may be traced here: the host is itself
	// under a debugger, or a policy forbids it. The second try tells.
	proc, err = startFree(c, attr, born)
	if err == nil && !h.impossible.Swap(true) {
		log.Debug("processes cannot be held at their start: one that forks at once may not be marked")
	}
	return proc, err
}

// startTraced is the start with the stop. All of it must happen on one thread, the one that the
// kernel takes for the debugger.
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
	_ = unix.PtraceDetach(proc.Pid) // killed meanwhile: nothing to let go
	return proc, nil
}

// awaitStop waits for the stop at the exec, or for the end of a child killed before it, which is
// left to be reaped.
func awaitStop(pid int) {
	var info unix.Siginfo
	for errors.Is(unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}

// forbidden reports the errors by which a request to be traced is refused, which may also be the
// program's own.
func forbidden(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EIO)
}
