package filestore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/internal/entry"
)

// A dir is an open directory of a plugin. All its files are reached through the open directory, so
// that no other directory can take its place meanwhile.
type dir struct {
	root *os.Root
	path string // for errors
}

func (d *dir) close() { _ = d.root.Close() } // a failed close loses nothing: no data was written to it

// openDir opens the plugin's directory. If there is none, the error is fs.ErrNotExist.
func (b *bucket) openDir() (*dir, error) {
	if b.store == "" {
		return nil, errors.New("New was given no directory")
	}
	store, err := os.OpenRoot(b.store)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	name := dirName(b.plugin)
	path := filepath.Join(b.store, name)
	info, err := store.Lstat(name)
	if err != nil {
		return nil, withPath(path, err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is %s, not a directory: remove it", path, kind(info.Mode()))
	}
	root, err := store.OpenRoot(name)
	if err != nil {
		return nil, withPath(path, err)
	}
	opened, err := root.Stat(".")
	if err == nil && !os.SameFile(info, opened) {
		err = errors.New("another directory took its place")
	}
	if err != nil {
		return nil, errors.Join(withPath(path, err), root.Close())
	}
	return &dir{root: root, path: path}, nil
}

// openFor opens the plugin's directory. If there is none and the change stores something, it
// creates the directory.
func (b *bucket) openFor(c change) (*dir, error) {
	d, err := b.openDir()
	if !errors.Is(err, fs.ErrNotExist) || c.deletes() {
		return d, err
	}
	if err := makeAll(filepath.Join(b.store, dirName(b.plugin))); err != nil {
		return nil, err
	}
	return b.openDir()
}

// makeAll creates a directory and its parents, and flushes each into its parent: a file survives a
// crash only if all its directories do.
func makeAll(path string) error {
	err := os.Mkdir(path, 0o700)
	if above := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) && above != path {
		if err := makeAll(above); err != nil {
			return err
		}
		err = os.Mkdir(path, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil // another process created it, or it is not a directory: opening it shows which
	}
	if err != nil {
		return err
	}
	return syncPath(filepath.Dir(path))
}

// syncPath flushes the entries of a directory.
func syncPath(path string) error {
	root, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	return errors.Join(syncDir(root), root.Close())
}

// open opens a regular file of the directory. It follows no link and never blocks.
//
// It checks the kind of the file twice. The check before opening avoids following links and opening
// devices. The check after opening is there because another file may have taken its place. A link
// that appears between the two cannot lead out of the root.
func (d *dir) open(name string, flag int) (*os.File, error) {
	info, err := d.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0 {
		err = nil
	} else if err == nil {
		err = regular(info.Mode())
	}
	if err != nil {
		return nil, withPath(d.file(name), err)
	}
	f, err := d.root.OpenFile(name, flag|nonblock, 0o600)
	if err != nil {
		return nil, withPath(d.file(name), err)
	}
	if info, err = f.Stat(); err == nil {
		err = regular(info.Mode())
	}
	if err != nil {
		return nil, errors.Join(withPath(d.file(name), err), f.Close())
	}
	return f, nil
}

// read reads a whole file. A file that is larger than the limit is damaged.
func (d *dir) read(name string, limit int) ([]byte, error) {
	content, err := d.head(name, limit+1)
	if err == nil && len(content) > limit {
		err = d.damaged(name, fmt.Errorf("it is larger than %d bytes", limit))
	}
	return content, err
}

// head reads the start of a file, at most limit bytes.
func (d *dir) head(name string, limit int) ([]byte, error) {
	f, err := d.open(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, int64(limit)))
}

// usageOf returns the usage of a key's file. Anything but a regular file counts as nothing.
func (d *dir) usageOf(name, key string) (entry.Usage, error) {
	info, err := d.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return entry.Usage{}, nil
	}
	if err != nil || !info.Mode().IsRegular() {
		return entry.Usage{}, withPath(d.file(name), err)
	}
	return entry.Usage{Bytes: max(0, info.Size()-int64(headLen(key))) + int64(len(key)), Keys: 1}, nil
}

func (d *dir) file(name string) string { return filepath.Join(d.path, name) }

// damaged returns the error for a file that does not have the form in which this package writes it.
func (d *dir) damaged(name string, err error) error {
	return fmt.Errorf("%s is damaged: %w; remove it, or put or delete its key", d.file(name), err)
}

// regular returns an error unless mode is that of a regular file.
func regular(mode fs.FileMode) error {
	if mode.IsRegular() {
		return nil
	}
	return fmt.Errorf("it is %s, not a file of this store: remove it", kind(mode))
}

func kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode.IsRegular():
		return "a file"
	}
	return "a device or a socket"
}

// withPath returns err with the full path. The errors of an os.Root contain only the last element.
func withPath(path string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		err = e.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}
