package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/patchbay-dev/patchbay/internal/atomicfile"
	"github.com/patchbay-dev/patchbay/internal/engine/archive"
	"github.com/patchbay-dev/patchbay/internal/engine/blocks"
)

// Backup writes all streams of a data directory into one file, also while an engine runs on it, and
// reads the file back. The file must not exist before. It appears only when it is complete, and
// only its owner can read it. Each stream is a snapshot of one moment; different streams have
// different moments.
func Backup(ctx context.Context, dir, path string) (*archive.Summary, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("%s: %w", path, os.ErrExist)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".backup-*") // mode 0600
	if at, ok := errors.AsType[*os.PathError](err); ok {     // without the name of the temporary file
		return nil, &os.PathError{Op: "write", Path: path, Err: at.Err}
	}
	if err != nil {
		return nil, err
	}
	summary, err := backupTo(ctx, dir, f)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Link(f.Name(), path) // unlike a rename, this never replaces a file that was created meanwhile
	}
	err = errors.Join(err, os.Remove(f.Name()))
	if err != nil {
		return nil, err
	}
	return summary, atomicfile.SyncDir(filepath.Dir(path))
}

func backupTo(ctx context.Context, dir string, f *os.File) (*archive.Summary, error) {
	w := archive.NewWriter(f, time.Now())
	files := 0
	err := blocks.Copy(dir, func(stream, file string, data []byte) error {
		files++
		return errors.Join(ctx.Err(), w.Add(stream, file, data))
	})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(w.Close(), f.Sync()); err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	summary, err := archive.Read(f, func(string, string, []byte) error {
		files--
		return ctx.Err()
	})
	if err == nil && files != 0 {
		err = fmt.Errorf("%d files of the store are missing", files)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the backup back: %w", err)
	}
	return summary, nil
}
