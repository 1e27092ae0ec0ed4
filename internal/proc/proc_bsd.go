//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package proc

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

func closeInherited() error { return closeOnExec("/dev/fd") }

func ownExecutable() (string, error) { return os.Executable() }

// awaitExit returns when the process has ended. It does not reap it.
func awaitExit(p *os.Process) { awaitEvent(p, nil) }

func awaitExitSoon(p *os.Process) { awaitExit(p) }

// hasExited reports whether a process that was not reaped has ended.
func hasExited(p *os.Process) bool { return awaitEvent(p, &unix.Timespec{}) }

// awaitEvent waits for the kernel's event for the end of the process. With a nil timeout it waits
// without limit. If the process has already ended, the request is an error, which means the same.
func awaitEvent(p *os.Process, timeout *unix.Timespec) bool {
	queue, err := unix.Kqueue()
	for ; err != nil; queue, err = unix.Kqueue() {
		if timeout != nil {
			return false
		}
		time.Sleep(10 * time.Millisecond) // no descriptors are left, so wait and try again
	}
	defer unix.Close(queue)
	unix.CloseOnExec(queue)
	changes := make([]unix.Kevent_t, 1)
	unix.SetKevent(&changes[0], p.Pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	changes[0].Fflags = unix.NOTE_EXIT
	if _, err := unix.Kevent(queue, changes, nil, nil); err != nil {
		return true
	}
	events := make([]unix.Kevent_t, 1)
	for {
		n, err := unix.Kevent(queue, nil, events, timeout)
		if !errors.Is(err, unix.EINTR) {
			return n > 0
		}
	}
}
