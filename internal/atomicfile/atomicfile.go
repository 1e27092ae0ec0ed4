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

// draftPrefix is how the name of a draft begins. It is hidden, and of no kind that anybody looks
// for.
const draftPrefix = ".patchbay-"

// Options are how a file is replaced. The zero value writes one that the user alone may read.
type Options struct {
	Mode    fs.FileMode          // of the new file, whatever the umask; 0: 0600
	Masked  bool                 // the umask takes off of Mode what the user wants off
	Prepare func(*os.File) error // is given the draft before it is closed, for its owner for instance
	Ready   func() error         // is asked right before the draft takes its place; an error keeps the file as it was

	// NoSync is for a file that may be lost or cut off with the power: it is not written through
	// to the disk.
	NoSync bool
}

// Write replaces the file at path. Its directory has to be there.
func Write(path string, text []byte, o Options) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(WriteIn(root, filepath.Base(path), text, o), root.Close())
}

// WriteIn replaces a file below root. The directory of the name has to be there, and no link on the
// way to it leads out of root.
func WriteIn(root *os.Root, name string, text []byte, o Options) error {
	draft := filepath.Join(filepath.Dir(name), draftPrefix+rand.Text()+".tmp")
	f, err := root.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, o.draftMode())
	if err != nil {
		return err
	}
	err = writeDraft(f, text, o)
	if err == nil && o.Ready != nil {
		err = o.Ready()
	}
	if err == nil {
		err = root.Rename(draft, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(draft))
	}
	if o.NoSync {
		return nil
	}
	return syncDir(root.Open(filepath.Dir(name)))
}

// Adopt gives a draft its name, for a file that is too large or too long under way for [Write]. The
// draft lies in the same directory, and its writer has written it through to the disk and closed
// it.
func Adopt(draft, path string) error {
	if err := os.Rename(draft, path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// mode is that of the new file.
func (o Options) mode() fs.FileMode { return cmp.Or(o.Mode, 0o600) }

// draftMode is the mode of a draft while it is written.
func (o Options) draftMode() fs.FileMode {
	if o.Masked {
		return o.mode()
	}
	return 0o600
}

// writeDraft writes a draft through to the disk: without that a loss of power after the renaming could
// leave an empty file.
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

// SyncDir makes the names in a directory survive the loss of power. Systems that cannot sync a
// directory need not.
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
