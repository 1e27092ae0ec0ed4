package storage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// tempPrefix marks files that are being written. No key's file starts like this.
const tempPrefix = "t-"

// leftoverAge is how old a file must be to have lost its writer; writing one takes milliseconds.
const leftoverAge = time.Hour

// replace gives the file at path new content, such that whoever reads it, and whatever dies, finds the old or the new
// content whole: written beside, flushed, renamed over, and the rename flushed.
func replace(path string, content []byte) error {
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, tempPrefix) // mode 0600
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeDir(dir); err != nil {
			return err
		}
		temp, err = os.CreateTemp(dir, tempPrefix)
	}
	if err != nil {
		return err
	}
	if err := fill(temp, content); err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	if err := rename(temp.Name(), path); err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return syncDir(dir)
}

func fill(f *os.File, content []byte) error {
	_, err := f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// makeDir makes a directory and those above it, each flushed into its parent: a file is as durable as the way to it.
func makeDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		if err := makeDir(filepath.Dir(dir)); err != nil {
			return err
		}
		return makeDir(dir)
	case err != nil:
		return err
	}
	return syncDir(filepath.Dir(dir))
}

// sweep removes what killed writers left behind. It is housekeeping: what it cannot remove does no harm, and the Put
// that follows reports a directory that cannot be written.
func sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !strings.HasPrefix(entry.Name(), tempPrefix) || time.Since(info.ModTime()) < leftoverAge {
			continue
		}
		_ = os.Remove(filepath.Join(dir, entry.Name()))
	}
}
