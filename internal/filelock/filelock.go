// Package filelock takes the lock of a file. The kernel gives it back when the process ends,
// however it ends.
package filelock

import (
	"errors"
	"os"
	"time"
)

// ErrLocked says that another process, or another opening of the file in this one, has the lock.
var ErrLocked = errors.New("locked")

// Try takes the lock of an open file, or returns [ErrLocked]. Closing the file gives it back. The
// file is never to be removed: a lock on a file that has no name any more would keep nobody out.
func Try(f *os.File) error { return lock(f) }

// Open opens the file, which is made where there is none, and takes its lock.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// OpenWithin is Open for who waits for the lock as long as patience lasts.
func OpenWithin(path string, timeout time.Duration) (*os.File, error) {
	const pace = 20 * time.Millisecond
	for deadline := time.Now().Add(timeout); ; time.Sleep(pace) {
		f, err := Open(path)
		if err == nil || !errors.Is(err, ErrLocked) || time.Now().After(deadline) {
			return f, err
		}
	}
}
