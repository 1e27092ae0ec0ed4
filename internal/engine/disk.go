package engine

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

const (
	// spare is how much room there must be beside what is to be written: the server also writes its
	// index, and the kernel counts in pages.
	spare = 64 << 10
	// faultLasts is for how long a write that failed speaks against the engine's health, unless one
	// succeeded since.
	faultLasts = time.Minute
)

// diskRefuses is [ErrDisk]. Its method lets those know it who must not import an engine, such as
// the HTTP API.
type diskRefuses struct{}

func (diskRefuses) Error() string { return "the disk refuses to write" }

// DiskRefuses marks the error.
func (diskRefuses) DiskRefuses() {}

// probeDisk tries to write a number of bytes into a directory, and removes them again. It is asked
// only when something failed, or for the health: what a file system says about its free room is not
// what it lets one user write.
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

// diskError says what is wrong with the disk, and what mends it.
func diskError(dir string, err error) error {
	if full(err) {
		return fmt.Errorf("data directory %s: %w: %w: free some room on that disk", dir, ErrDisk, err)
	}
	return fmt.Errorf("data directory %s: %w: %w", dir, ErrDisk, err)
}

func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, errQuota) }

// fault is what keeps the server from writing: what its log said since a moment, or what a write of
// our own says. Where the server is in another process, only the latter is known. nil: nothing
// does, as far as can be told.
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

// Disk tells why an embedded engine cannot write; nil: it can, as far as is known.
func (e *Engine) Disk() error {
	if e.node == nil {
		return nil
	}
	return e.fault(time.Now().Add(-faultLasts), 0)
}

// Disk tells why nothing can be written to a data directory; nil: it can, or there is none yet.
func Disk(dir string) error { return probeDisk(dir, spare) }

// explain adds what is wrong with the disk to an error of a request that the server could not, or
// did not, answer.
func (e *Engine) explain(err error) error {
	if err == nil || e.node == nil || errors.Is(err, ErrDisk) || !unanswered(err) {
		return err
	}
	if disk := probeDisk(e.node.dir, spare); disk != nil {
		return fmt.Errorf("%w (%w)", disk, err)
	}
	return err
}
