package filestore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

// lockName is the file that a writer locks. No key has this file name.
const lockName = "lock"

// lockTimeout is how long a writer waits for others. Each takes milliseconds, or seconds on a slow
// disk.
const lockTimeout = 30 * time.Second

// lock waits until no other writer has the directory: no other bucket of this process and no other
// process. The system releases the lock when a process dies.
func (d *dir) lock(ctx context.Context) (*ledger, error) {
	for deadline := time.Now().Add(lockTimeout); ; {
		l, err := d.tryLock()
		if l != nil || err != nil {
			return l, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%s: another process has held this lock for %v; end it, or try again", d.file(lockName), lockTimeout)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(time.Millisecond + rand.N(4*time.Millisecond)): // random, so that two waiting processes take turns
		}
	}
}

// tryLock takes the lock. It returns nil if another writer has it.
func (d *dir) tryLock() (*ledger, error) {
	f, err := d.open(lockName, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	held, err := lockFile(f)
	if held {
		held, err = d.isCurrent(lockName, f)
	}
	if err != nil {
		return nil, errors.Join(withPath(d.file(lockName), err), f.Close())
	}
	if !held {
		return nil, f.Close()
	}
	return &ledger{dir: d, file: f}, nil
}

// isCurrent reports whether f is still the file with that name. A lock file that was removed locks
// nothing, and a link would make us write to another file.
func (d *dir) isCurrent(name string, f *os.File) (bool, error) {
	opened, err := f.Stat()
	if err != nil {
		return false, err
	}
	now, err := d.root.Lstat(name)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(opened, now), err
}
