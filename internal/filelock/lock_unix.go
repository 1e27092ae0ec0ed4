//go:build unix

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// The kinds of locks.
const (
	exclusive = unix.LOCK_EX
	shared    = unix.LOCK_SH
)

// lock locks the open file and not the process: a second open file of this process does not get the
// lock either.
func lock(f *os.File, kind int) error {
	for {
		err := unix.Flock(int(f.Fd()), kind|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrLocked
		default:
			return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
	}
}
