//go:build unix

package filestore

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// nonblock opens a named pipe without waiting for its writer, and never makes a terminal the
// controlling terminal of the process.
const nonblock = unix.O_NONBLOCK | unix.O_NOCTTY

// lockFile locks the open file and not the process, so other buckets of this process are locked
// out, too.
func lockFile(f *os.File) (held bool, err error) {
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return err == nil, err
}

func rename(root *os.Root, from, to string) error { return root.Rename(from, to) }

// syncDir flushes the entries of a directory.
func syncDir(root *os.Root) error {
	d, err := root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
