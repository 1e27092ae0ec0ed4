package engine

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

const (
	// spare is how much more space must be free than a write needs: the server also writes its
	// index, and the kernel allocates pages.
	spare = 64 << 10
	// faultLasts is how long a failed write counts against the engine's health, unless a later
	// write succeeds.
	faultLasts = time.Minute
)

// diskRefuses is the type of [ErrDisk]. Packages that must not import the engine, such as the HTTP
// API, recognize the error by its method.
type diskRefuses struct{}

func (diskRefuses) Error() string { return "the disk refuses to write" }

// DiskRefuses marks the error.
func (diskRefuses) DiskRefuses() {}

// probeDisk tries to write a number of bytes into a directory, and removes them again. It is used
// only after a failure, for the health, and before a purge. It does not ask the file system for its
// free space, because a user may be allowed less.
func probeDisk(dir string, bytes int) error {
	f, err := os.CreateTemp(dir, ".probe-*")
	if err == nil {
		_, err = f.Write(make([]byte, bytes))
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return diskError(dir, err)
}

// diskError says what is wrong with the disk, and how to fix it.
func diskError(dir string, err error) error {
	if full(err) {
		return fmt.Errorf("data directory %s: %w: %w: free some room on that disk", dir, ErrDisk, err)
	}
	return fmt.Errorf("data directory %s: %w: %w", dir, ErrDisk, err)
}

func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, errQuota) }

// fault returns what keeps the server from writing: an error that it has logged since the given
// time, or the error of a test write. If the server is in another process, only the test write
// shows it. It returns nil if no fault is known.
func (e *Engine) fault(since time.Time, bytes int) error {
	if e.node == nil {
		return nil
	}
	if err := e.node.faults.since(since); err != nil {
		return fmt.Errorf("data directory %s: %w: %w", e.node.dir, ErrDisk, err)
	}
	return probeDisk(e.node.dir, bytes+spare)
}

func (e *Engine) wrote(begin time.Time) {
	if e.node != nil {
		e.node.faults.wrote(begin)
	}
}

// Disk returns why an embedded engine cannot write, or nil.
func (e *Engine) Disk() error {
	if e.node == nil {
		return nil
	}
	return e.fault(time.Now().Add(-faultLasts), 0)
}

// Disk returns why nothing can be written to a data directory. It returns nil if writing works, or
// if there is no directory yet.
func Disk(dir string) error { return probeDisk(dir, spare) }

// Writable implements [Store]. It is asked before every purge too: if the server cannot write the
// marks of one, it waits for a lock that it holds itself, and answers nothing any more until the
// process has ended.
func (e *Engine) Writable() error {
	if e.node == nil {
		return nil
	}
	return probeDisk(e.node.dir, spare)
}

// explain adds a problem of the disk to the error of a request that the server did not or could not
// answer.
func (e *Engine) explain(err error) error {
	if err == nil || e.node == nil || errors.Is(err, ErrDisk) || !unanswered(err) {
		return err
	}
	if disk := probeDisk(e.node.dir, spare); disk != nil {
		return fmt.Errorf("%w (%w)", disk, err)
	}
	return err
}
