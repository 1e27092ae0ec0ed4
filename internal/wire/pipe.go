package wire

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// errWouldBlock means that a pipe has nothing to read, or no room to write, at the moment.
var errWouldBlock = errors.New("would block")

var (
	noDeadline = time.Time{}
	longAgo    = time.Unix(1, 0) // as a deadline: interrupts at once
)

// isTimeout reports whether a read or write was interrupted by its deadline.
func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// isGone reports whether a write failed because the other end is closed.
func isGone(err error) bool { return errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) }

// closeBoth closes both ends of a connection. It ignores ends that are closed already.
func closeBoth(r, w *os.File) error {
	var errs []error
	for _, f := range []*os.File{w, r} {
		if err := f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
