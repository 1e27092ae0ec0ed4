//go:build unix

package storage

import (
	"errors"
	"os"
)

func rename(from, to string) error { return os.Rename(from, to) }

// syncDir flushes a directory's entries.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
