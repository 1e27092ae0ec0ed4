package atomicfile

import (
	"cmp"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// draftPrefix begins the name of a draft. So a draft is a hidden file, and no program looks for
// such names.
const draftPrefix = ".patchbay-"

// Options say how a file is replaced. The zero value writes a file that only the user may read.
type Options struct {
	Mode    fs.FileMode          // of the new file; the umask does not apply; 0: 0600
	Masked  bool                 // the umask applies to Mode
	Prepare func(*os.File) error // called with the draft before it is closed, for example to set its owner
	Ready   func() error         // called right before the rename; if it returns an error, the file stays as it was

	// NoSync is for a file that may be lost or cut off at a power failure: it is not flushed to
	// disk.
	NoSync bool
}

// Write replaces the file at path. Its directory must exist.
func Write(path string, text []byte, o Options) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(WriteIn(root, filepath.Base(path), text, o), root.Close())
}

// WriteIn replaces a file below root. The directory of the name must exist, and no link on the way
// may lead out of root.
func WriteIn(root *os.Root, name string, text []byte, o Options) error {
	draft := filepath.Join(filepath.Dir(name), draftPrefix+rand.Text()+".tmp")
	f, err := root.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, o.draftMode())
	if err != nil {
		return aboutFile(root, name, err)
	}
	err = writeDraft(f, text, o)
	if err == nil && o.Ready != nil {
		err = o.Ready()
	}
	if err == nil {
		err = aboutFile(root, name, root.Rename(draft, name))
	}
	if err != nil {
		return errors.Join(err, root.Remove(draft))
	}
	if o.NoSync {
		return nil
	}
	return syncDir(root.Open(filepath.Dir(name)))
}

// aboutFile returns an error about a draft as one about the file, with its whole path: a person can
// do nothing with the name of a draft.
func aboutFile(root *os.Root, name string, err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: "write", Path: filepath.Join(root.Name(), name), Err: at.Err}
	}
	if at, ok := errors.AsType[*os.LinkError](err); ok {
		return &fs.PathError{Op: "write", Path: filepath.Join(root.Name(), name), Err: at.Err}
	}
	return err
}

// Adopt renames a draft to path. It is for a file that [Write] cannot write, because the file is
// too large for memory or takes long to write. The draft must be in the same directory, flushed to
// disk and closed.
func Adopt(draft, path string) error {
	if err := os.Rename(draft, path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// mode returns the mode of the new file.
func (o Options) mode() fs.FileMode { return cmp.Or(o.Mode, 0o600) }

// draftMode returns the mode of a draft while it is written.
func (o Options) draftMode() fs.FileMode {
	if o.Masked {
		return o.mode()
	}
	return 0o600
}

// writeDraft writes a draft and flushes it to disk. Without that a power failure after the rename
// could leave an empty file.
func writeDraft(f *os.File, text []byte, o Options) error {
	_, err := f.Write(text)
	if err == nil && o.Prepare != nil {
		err = o.Prepare(f)
	}
	if err == nil && !o.Masked {
		err = f.Chmod(o.mode())
	}
	if err == nil && !o.NoSync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// SyncDir flushes the names in a directory, so that they survive a power failure. It ignores the
// error of systems that cannot flush a directory.
func SyncDir(dir string) error { return syncDir(os.Open(dir)) }

func syncDir(f *os.File, err error) error {
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) || errors.Is(err, fs.ErrPermission) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
