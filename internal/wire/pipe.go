package wire

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// errWouldBlock says that a pipe had nothing to read, or no room to write, right now.
var errWouldBlock = errors.New("would block")

var (
	noDeadline = time.Time{}
	longAgo    = time.Unix(1, 0) // as a deadline: interrupts at once
)

// isTimeout reports whether a read or write was cut short by its deadline.
func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// isGone reports whether a write found nobody at the other end.
func isGone(err error) bool { return errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) }

// closeBoth closes both ends of a connection. One that its owner has closed already is no error.
func closeBoth(r, w *os.File) error {
	var errs []error
	for _, f := range []*os.File{w, r} {
		if err := f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
