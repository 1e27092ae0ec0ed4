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

// awaitExit returns when the process has ended, and leaves it to be reaped.
func awaitExit(p *os.Process) { awaitEvent(p, nil) }

func awaitExitSoon(p *os.Process) { awaitExit(p) }

// hasExited reports whether a process that nobody has reaped has ended.
func hasExited(p *os.Process) bool { return awaitEvent(p, &unix.Timespec{}) }

// awaitEvent waits for the kernel's event of the process's end; a nil timeout waits for ever.
// Asking about a process that has ended already is an error, which says the same.
func awaitEvent(p *os.Process, timeout *unix.Timespec) bool {
	queue, err := unix.Kqueue()
	for ; err != nil; queue, err = unix.Kqueue() {
		if timeout != nil {
			return false
		}
		time.Sleep(10 * time.Millisecond) // out of descriptors: there is nothing to wait on but better days
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
