package blocks

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/patchbay-dev/patchbay/internal/atomicfile"
)

// Swap puts the store of another data directory in the place of the one that dir has, and returns
// under which name that one is kept; "": there was none. If it stops between its two steps, [Open]
// refuses the directory and says so.
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
