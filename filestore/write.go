package filestore

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
)

// tempPrefix begins the names of files that are being written. No file of a key begins with it.
const tempPrefix = "t-"

// replace replaces the content of a file. Every reader finds the old content or the new one as a
// whole, also after a crash: replace writes another file, flushes it, renames it and flushes the
// rename.
func (d *dir) replace(name string, content []byte) error {
	temp := tempPrefix + rand.Text()
	f, err := d.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return withPath(d.file(temp), err)
	}
	err = writeAndSync(f, content)
	if err == nil {
		err = rename(d.root, temp, name)
	}
	if err != nil {
		return errors.Join(withPath(d.file(name), err), d.root.Remove(temp))
	}
	return withPath(d.path, syncDir(d.root))
}

func writeAndSync(f *os.File, content []byte) error {
	_, err := f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// remove removes a file, or a link in its place. It is not an error if there is none.
func (d *dir) remove(name string) error {
	err := d.root.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return withPath(d.file(name), err)
	}
	return withPath(d.path, syncDir(d.root))
}
