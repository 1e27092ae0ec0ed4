package filestore

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// nonblock is 0: on Windows no file of a directory is a named pipe.
const nonblock = 0

// lockFile locks one byte far behind the end of the file: locks are mandatory on Windows, and the
// record must stay readable.
func lockFile(f *os.File) (held bool, err error) {
	const exclusive = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(f.Fd()), exclusive, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

// rename tries again for a while: Windows may refuse to replace a file that another program has
// open, for example a virus scanner.
func rename(root *os.Root, from, to string) error {
	const tries, pause = 50, 10 * time.Millisecond
	var err error
	for range tries {
		if err = root.Rename(from, to); err == nil || !errors.Is(err, fs.ErrPermission) {
			return err
		}
		time.Sleep(pause)
	}
	return err
}

// syncDir does nothing: directories cannot be flushed, and the journal of the file system keeps
// their entries in order.
func syncDir(*os.Root) error { return nil }
