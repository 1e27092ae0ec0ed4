//go:build unix

package editfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// lockPatience is how long an edit waits for others. Each takes milliseconds.
const lockPatience = 10 * time.Second

// lock waits until no other process of ours edits a file in dir. The kernel releases the lock when
// a process dies.
func lock(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(lockPatience); ; time.Sleep(10 * time.Millisecond) {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return func() { _ = f.Close() }, nil // closing releases it
		case errors.Is(err, syscall.EWOULDBLOCK) && time.Now().Before(deadline), errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return nil, errors.Join(fmt.Errorf("%s: another process is editing a file there", dir), f.Close())
		default:
			return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), f.Close())
		}
	}
}

// keepOwner gives f the owner of another file, if that differs.
func keepOwner(f *os.File, of fs.FileInfo) error {
	want, ok := of.Sys().(*syscall.Stat_t)
	info, err := f.Stat()
	if err != nil || !ok {
		return err
	}
	have, ok := info.Sys().(*syscall.Stat_t)
	if !ok || have.Uid == want.Uid && have.Gid == want.Gid {
		return nil
	}
	return f.Chown(int(want.Uid), int(want.Gid))
}
