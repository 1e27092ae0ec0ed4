package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/filelock"
)

// patience is how long a process waits for another that changes the lock. That process holds the
// lock while it puts files in place, which takes milliseconds, and never while it fetches or copies
// them. Tests wait less.
var patience = 30 * time.Second

// Update changes the lock, one process at a time, and removes the texts that it no longer names.
// change gets the present lock, and reports whether it has changed it. Code that puts the files of
// a plugin in place does so within change: a process that finds unrecorded files waits here before
// it reports them.
func (b Book) Update(change func(*Lock) (changed bool, err error)) error {
	path, err := follow(b.Lock)
	if err != nil {
		return err
	}
	unlock, err := guard(path)
	if err != nil {
		return err
	}
	defer unlock()
	l, err := Load(path)
	if err != nil {
		return err
	}
	changed, err := change(l)
	if err != nil || !changed {
		return err
	}
	err = l.save(path)
	if err != nil {
		if l, loadErr := Load(path); loadErr == nil {
			_ = b.sweep(l) // removes the texts of the failed change
		}
		return err
	}
	_ = b.sweep(l) // an extra text is harmless, and the next change removes it
	return nil
}

// follow returns the file of the lock. If the path is a link, for example into a repository of
// configuration, the link stays, and its target is replaced.
func follow(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return path, nil // other faults are reported when it is read
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", &document.Error{Problems: []document.Problem{{File: path, Message: "it is a link that leads nowhere: " + err.Error(),
			Fix: "make the file that it leads to (an empty lock is: version = 1), or remove the link"}}}
	}
	return real, nil
}

// guard keeps other processes from changing the lock. The kernel releases it when a process dies.
func guard(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := openGuard(path)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		err := filelock.Try(f)
		if err == nil {
			return func() { _ = f.Close() }, nil // closing releases it
		}
		switch {
		case !errors.Is(err, filelock.ErrLocked):
			return nil, errors.Join(fmt.Errorf("%s cannot be locked: %w", path, err), f.Close())
		case time.Now().After(deadline):
			return nil, errors.Join(fmt.Errorf("%s: another process is changing it: %w", path, err), f.Close())
		}
	}
}
