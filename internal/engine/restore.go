package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine/archive"
	"github.com/patchbay-dev/patchbay/internal/engine/blocks"
)

// A RestoreResult is the result of a restore.
type RestoreResult struct {
	Dir     string           `json:"dir"`
	Summary *archive.Summary `json:"backup"`
	Before  string           `json:"before,omitempty"` // the store that was there before; "": there was none
}

// Restore replaces the store of a data directory by that of a backup, and keeps the old store
// beside it. It first unpacks and checks the backup, and lets a server open it; until then nothing
// changes. No engine may run on the directory.
func Restore(ctx context.Context, dir, path string, log *slog.Logger) (*RestoreResult, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := holdStopped(dir)
	if err != nil {
		return nil, err
	}
	r, err := restore(ctx, dir, f, log)
	return r, errors.Join(err, lock.release())
}

func restore(ctx context.Context, dir string, f *os.File, log *slog.Logger) (*RestoreResult, error) {
	place, err := os.MkdirTemp(dir, ".restore-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(place) // all of it, or the rest after the swap
	r := &RestoreResult{Dir: dir}
	if r.Summary, err = archive.Read(f, func(stream, name string, data []byte) error {
		return putFile(filepath.Join(place, "jetstream", "$G", "streams", stream, filepath.FromSlash(name)), data)
	}); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	read, err := blocks.Check(place, false, log)
	if err != nil {
		return nil, err
	}
	if len(read.Findings) > 0 {
		return nil, fmt.Errorf("%s: %s", f.Name(), read.Findings[0])
	}
	if err := verify(ctx, place, read.Counts, log); err != nil {
		return nil, fmt.Errorf("%s: the server does not open it as it should: %w", f.Name(), err)
	}
	r.Before, err = blocks.Swap(dir, place, time.Now())
	return r, err
}

// putFile writes a file into a new directory and syncs it.
func putFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
