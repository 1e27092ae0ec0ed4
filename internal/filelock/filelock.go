// Package filelock locks files. The kernel releases a lock when the process ends, however it ends.
package filelock

import (
	"errors"
	"os"
	"time"
)

// ErrLocked is returned if another process has the lock, or another open file of this process.
var ErrLocked = errors.New("locked")

// Try locks an open file, or returns [ErrLocked]. Closing the file releases the lock. A lock on a
// file without a name locks nothing: if others remove the file, or give it another name, check its
// name when it is locked.
func Try(f *os.File) error { return lock(f, exclusive) }

// Share opens a file that exists, and locks it together with other callers of Share. It returns
// [ErrLocked] if somebody has the file for himself: see [Try] and [Open].
func Share(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := lock(f, shared); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Open opens the file, or creates it, and locks it.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f, exclusive); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// OpenWithin is like Open, but waits for the lock up to timeout.
func OpenWithin(path string, timeout time.Duration) (*os.File, error) {
	const pace = 20 * time.Millisecond
	for deadline := time.Now().Add(timeout); ; time.Sleep(pace) {
		f, err := Open(path)
		if err == nil || !errors.Is(err, ErrLocked) || time.Now().After(deadline) {
			return f, err
		}
	}
}
