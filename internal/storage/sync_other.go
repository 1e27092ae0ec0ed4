//go:build !unix

package storage

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// rename tries again for a while: Windows refuses to replace a file that someone has open, if only to read it.
func rename(from, to string) error {
	const tries, pause = 50, 10 * time.Millisecond // half a second: a reader is done in far less
	var err error
	for range tries {
		if err = os.Rename(from, to); err == nil || !errors.Is(err, fs.ErrPermission) {
			return err
		}
		time.Sleep(pause)
	}
	return err
}

// syncDir has nothing to do: directories cannot be flushed here, and the journal keeps their entries in order.
func syncDir(string) error { return nil }
