package proc

import (
	"errors"
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// closeInherited sets close-on-exec on every descriptor above 2.
func closeInherited() error {
	err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	// Before Linux 5.11 the descriptors are handled one by one.
	return closeOnExec("/proc/self/fd")
}

// ownExecutable returns a path to the running program that stays valid if its file is replaced or
// removed.
func ownExecutable() (string, error) { return "/proc/self/exe", nil }

// awaitExit returns when the process has ended. It does not reap it. It waits in the runtime's
// poller, through the process's handle, so that an idle plugin needs no thread.
func awaitExit(p *os.Process) {
	if handle := pollable(p); handle != nil {
		defer handle.Close()
		if conn, err := handle.SyscallConn(); err == nil {
			err = conn.Read(func(uintptr) bool { return hasExited(p) })
			if err == nil {
				return
			}
		}
	}
	awaitExitSoon(p) // before Linux 5.3
}

// awaitExitSoon is awaitExit for a process that will end soon: a thread waits. The detour through
// the poller would take a twenty-fifth of the time of a spawn.
func awaitExitSoon(p *os.Process) {
	var info unix.Siginfo
	for errors.Is(unix.Waitid(unix.P_PID, p.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}

// pollable duplicates the handle of a process into a file that the runtime's poller can use. It
// returns nil if there is no handle.
func pollable(p *os.Process) *os.File {
	fd := -1
	err := p.WithHandle(func(handle uintptr) {
		fd, _ = unix.FcntlInt(handle, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err != nil || fd < 0 {
		return nil
	}
	if err := unix.SetNonblock(fd, true); err != nil { // os.NewFile takes a non-blocking descriptor for pollable
		_ = unix.Close(fd)
		return nil
	}
	return os.NewFile(uintptr(fd), "pidfd "+strconv.Itoa(p.Pid))
}

// hasExited reports whether a process that was not reaped has ended.
func hasExited(p *os.Process) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, p.Pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	if errors.Is(err, unix.EINTR) {
		return false
	}
	return err != nil || info.Signo != 0 // an error means that there is no such child any more
}
