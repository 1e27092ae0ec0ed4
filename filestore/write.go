package filestore

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
)

// tempPrefix marks files that are being written. No key's file begins like this.
const tempPrefix = "t-"

// replace gives a file new content, such that every reader finds the old content or the new one
// whole, whatever dies: written beside, flushed, renamed over, and the rename flushed.
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

// remove removes a file, or a link that lies in its place. Where there is nothing, that is no
// error.
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
