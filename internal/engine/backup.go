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
		err = publish(f.Name(), path)
	}
	if left := os.Remove(f.Name()); !errors.Is(left, os.ErrNotExist) {
		err = errors.Join(err, left)
	}
	if err != nil {
		return nil, err
	}
	return summary, atomicfile.SyncDir(filepath.Dir(path))
}

// publish gives a complete file its name, unless a file of that name was created meanwhile. A link
// does that in one step, but some file systems, such as FAT, have no links. There an empty file
// reserves the name, and the rename replaces it.
func publish(draft, path string) error {
	err := os.Link(draft, path)
	if err == nil || errors.Is(err, os.ErrExist) {
		return err
	}
	reserved, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(reserved.Close(), os.Rename(draft, path)); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
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
