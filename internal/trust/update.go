package trust

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/patchbay-dev/patchbay/internal/filelock"
)

// patience is how long a process waits for another that changes the lock. It holds the lock while it puts files in
// place, which takes milliseconds, and never while it fetches or copies them. Tests wait less.
var patience = 30 * time.Second

// Update changes the lock, one process at a time. change is given the lock as it is now, and says whether it has
// changed it. Whoever puts the files of a plugin in place does so within change: a process that finds other files
// than those recorded waits here before it complains.
func Update(path string, change func(*Lock) (changed bool, err error)) error {
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
	return l.save(path)
}

// guard keeps other processes from changing the lock. The kernel lets go of it when a process dies.
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
			return func() { _ = f.Close() }, nil // closing gives it back
		}
		if !errors.Is(err, filelock.ErrLocked) || time.Now().After(deadline) {
			return nil, errors.Join(fmt.Errorf("%s: another process is changing it: %w", path, err), f.Close())
		}
	}
}
