package editfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/atomicfile"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// maxFile limits the size of a file that people write.
const maxFile = 1 << 20

// ErrChanged is returned if another program has changed the file between reading and writing.
var ErrChanged = errors.New("the file was changed meanwhile: nothing was written, try again")

// A Place is a file in a directory. No link in the name may lead out of the directory.
type Place struct {
	Dir  string      // created if it does not exist
	Name string      // below it, with slashes
	Mode fs.FileMode // of a new file; 0: 0600
}

// A Result says what happened to a file.
type Result struct {
	Path    string // of the file
	Backup  string // where the former text is; "": there was none, or nothing changed
	Changed bool
	Removed bool // the file was removed
}

// Edit replaces a file with the text that change returns, as a whole or not at all. The file keeps
// its mode and its owner, and a backup of the former text is stored beside it. A missing file
// counts as empty. If change returns nil, the file and its backup are removed. Edits of one file by
// several of our processes wait for each other.
func Edit(p Place, change func(old []byte) ([]byte, error)) (Result, error) {
	e, err := open(p)
	if err != nil {
		return Result{}, err
	}
	defer e.close()
	text, err := change(bytes.Clone(e.old))
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", e.path(), err)
	}
	result := Result{Path: e.path()}
	switch {
	case text == nil:
		result.Changed, result.Removed = e.info != nil, e.info != nil
		return result, e.remove()
	case bytes.Equal(text, e.old):
		return result, nil
	}
	if len(text) > maxFile {
		return Result{}, fmt.Errorf("%s: would have more than %d bytes", e.path(), maxFile)
	}
	if result.Backup, err = e.replace(text); err != nil {
		if at, ok := errors.AsType[*fs.PathError](err); ok && at.Path == e.path() {
			return Result{}, err // it names the file
		}
		return Result{}, fmt.Errorf("%s: %w", e.path(), err)
	}
	result.Changed = true
	return result, nil
}

// BackupOf returns where the backup of a file is.
func BackupOf(path string) string { return path + ".patchbay.bak" }

// Undone returns the text of the file at path after remove, which takes back what add does. If the
// file differs from its backup only by add, the text is that of the backup: remove cannot know
// whether an empty object was there before.
func Undone(path string, text []byte, add, remove func([]byte) ([]byte, error)) ([]byte, error) {
	left, err := remove(text)
	if err != nil || bytes.Equal(left, text) {
		return left, err
	}
	before, err := plainfile.Read(BackupOf(path), maxFile)
	if err != nil {
		return left, nil
	}
	bare, err := remove(before)
	if err != nil || !bytes.Equal(bare, before) {
		return left, nil
	}
	with, err := add(before)
	if err != nil {
		return left, nil
	}
	if again, err := remove(with); err != nil || !bytes.Equal(again, left) {
		return left, nil
	}
	return append([]byte{}, before...), nil // not nil: an empty file was there
}

// An edit is one file while it is being changed.
type edit struct {
	root   *os.Root
	name   string // below root, not a link
	old    []byte
	info   fs.FileInfo // nil: there is no file
	mode   fs.FileMode
	unlock func()
}

func (e *edit) path() string { return filepath.Join(e.root.Name(), filepath.FromSlash(e.name)) }

func (e *edit) close() {
	e.unlock()
	_ = e.root.Close() // it was opened for reading only
}

// open finds the file, waits for our other processes, and reads it.
func open(p Place) (*edit, error) {
	dirMode := fs.FileMode(0o700)
	if p.Mode&0o044 != 0 {
		dirMode = 0o755
	}
	if err := os.MkdirAll(p.Dir, dirMode); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return nil, err
	}
	e := &edit{root: root, mode: cmp.Or(p.Mode, 0o600), unlock: func() {}}
	if err := e.locate(p, dirMode); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	if e.unlock, err = lock(filepath.Dir(e.path())); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	if e.old, e.info, err = e.read(); err != nil {
		e.close()
		return nil, err
	}
	if e.info != nil {
		e.mode = e.info.Mode().Perm()
	}
	return e, nil
}

// locate creates the directories in the name, and follows links to the file. A link that leads out
// of the directory is an error.
func (e *edit) locate(p Place, dirMode fs.FileMode) error {
	e.name = filepath.ToSlash(filepath.Clean(p.Name))
	if dir := filepath.Dir(e.name); dir != "." {
		if err := e.root.MkdirAll(dir, dirMode); err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(p.Dir, dir), explainLink(err))
		}
	}
	for range 8 {
		info, err := e.root.Lstat(e.name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", e.path(), explainLink(err))
		case info.Mode()&fs.ModeSymlink == 0:
			return nil
		}
		target, err := e.root.Readlink(e.name)
		if err != nil {
			return err
		}
		next := filepath.Join(filepath.Dir(filepath.FromSlash(e.name)), target)
		if filepath.IsAbs(target) || !filepath.IsLocal(next) {
			return fmt.Errorf("%s is a link that leads out of %s, to %.200q: change that file by hand", e.path(), p.Dir, target)
		}
		e.name = filepath.ToSlash(next)
	}
	return fmt.Errorf("%s: too many links, one after the other", filepath.Join(p.Dir, p.Name))
}

// explainLink explains the error of os.Root for a link that leads out of it.
func explainLink(err error) error {
	if strings.Contains(err.Error(), "escapes") {
		return fmt.Errorf("it is a link that leads out of the directory: change that file by hand (%w)", err)
	}
	return err
}

// read reads the file. It returns nil if there is no file, and an error if the file is not a
// regular file or is read-only.
func (e *edit) read() ([]byte, fs.FileInfo, error) {
	info, err := e.root.Lstat(e.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, explainLink(err)
	case !info.Mode().IsRegular():
		return nil, nil, fmt.Errorf("%s: %w", e.path(), plainfile.ErrKind)
	case info.Mode().Perm()&0o200 == 0:
		return nil, nil, readOnly(e.path())
	}
	f, err := plainfile.OpenIn(e.root, filepath.FromSlash(e.name))
	if err != nil {
		return nil, nil, explainLink(err)
	}
	defer f.Close()
	data, err := plainfile.ReadFrom(f, maxFile)
	return data, info, err
}

// readOnly is the path of a file that may not be changed.
type readOnly string

func (r readOnly) Error() string { return string(r) + " is read-only; " + r.Fix() }

// Fix says how to fix it.
func (readOnly) Fix() string { return "make it writable, or change it by hand" }

// replace makes a backup, and replaces the file unless another program has changed it.
func (e *edit) replace(text []byte) (backup string, err error) {
	if e.info != nil {
		backup = BackupOf(e.name)
		if err := e.write(backup, e.old, nil); err != nil {
			return "", fmt.Errorf("backup: %w", err)
		}
		backup = filepath.Join(e.root.Name(), filepath.FromSlash(backup))
	}
	return backup, e.write(e.name, text, e.checkUnchanged)
}

// remove removes the file and its backup.
func (e *edit) remove() error {
	if e.info == nil {
		return nil
	}
	err := e.checkUnchanged()
	if err == nil {
		err = e.root.Remove(e.name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.path(), err)
	}
	if err := e.root.Remove(BackupOf(e.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(e.path()))
}

// checkUnchanged checks that the file is still the one that was read.
func (e *edit) checkUnchanged() error {
	now, info, err := e.read()
	switch {
	case err != nil:
		return err
	case (info == nil) != (e.info == nil) || !bytes.Equal(now, e.old):
		return ErrChanged
	}
	return nil
}

// write replaces a file. It calls ready right before the replacement.
func (e *edit) write(name string, text []byte, ready func() error) error {
	return atomicfile.WriteIn(e.root, filepath.FromSlash(name), text, atomicfile.Options{Mode: e.mode, Prepare: e.copyOwner, Ready: ready})
}

// copyOwner gives a new file the owner of the old one.
func (e *edit) copyOwner(f *os.File) error {
	if e.info == nil {
		return nil
	}
	if err := keepOwner(f, e.info); err != nil {
		return fmt.Errorf("the file would change its owner: %w", err)
	}
	return nil
}
