package blocks

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/patchbay-dev/patchbay/internal/atomicfile"
)

// Swap replaces the store of dir by that of another data directory. It returns the new name of the
// old store, or "" if there was none. If it is interrupted between its two steps, [Open] returns an
// error that says so.
func Swap(dir, other string, now time.Time) (string, error) {
	store := filepath.Join(dir, storeDir)
	before := store + beforeRestore + now.UTC().Format(stampLayout)
	if err := Unseal(dir); err != nil {
		return "", err
	}
	err := os.Rename(store, before)
	if errors.Is(err, fs.ErrNotExist) {
		before, err = "", nil
	}
	if err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(other, storeDir), store); err != nil {
		return before, err
	}
	return before, atomicfile.SyncDir(dir)
}
