package scratch

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Remove removes a directory that a plugin could write to. os.RemoveAll has a descriptor open for
// each level, so a plugin could use up all descriptors of the host. Remove instead moves every
// directory that it finds to the top, so that no path is more than two levels deep. It follows no
// link. It also removes directories that their owner may not write to, such as those of Go's module
// cache. A path that does not exist is not an error.
func Remove(path string) error {
	top, err := openDirAt(unix.AT_FDCWD, path)
	if err != nil {
		return ignoreMissing(err)
	}
	defer top.Close()
	r := remover{top: top}
	for {
		names, err := top.Readdirnames(entriesAtOnce)
		if errors.Is(err, io.EOF) && !r.again {
			return os.Remove(path)
		}
		if errors.Is(err, io.EOF) { // directories were moved in since the listing began: read it again
			r.again = false
			_, err = top.Seek(0, io.SeekStart)
		}
		for _, name := range names {
			err = errors.Join(err, r.remove(name))
		}
		if err != nil {
			return err
		}
	}
}

const entriesAtOnce = 256

// A remover empties one directory.
type remover struct {
	top   *os.File
	moved int  // how many directories were moved to the top
	again bool // some were moved since the listing began
}

// remove removes an entry of the top. It deletes the files of a directory, and moves its
// subdirectories to the top.
func (r *remover) remove(name string) error {
	if gone, err := unlink(r.top, name); gone || err != nil {
		return err
	}
	dir, err := openDirAt(int(r.top.Fd()), name)
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	for _, inner := range names {
		gone, failed := unlink(dir, inner)
		if failed == nil && !gone {
			failed = r.moveToTop(dir, inner)
		}
		err = errors.Join(err, failed)
	}
	return errors.Join(err, unix.Unlinkat(int(r.top.Fd()), name, unix.AT_REMOVEDIR))
}

// moveToTop moves a directory to the top, under an unused name. The system moves only directories
// that may be written to.
func (r *remover) moveToTop(from *os.File, name string) error {
	if err := allow(int(from.Fd()), name); err != nil {
		return err
	}
	for {
		r.moved++
		err := unix.Renameat2(int(from.Fd()), name, int(r.top.Fd()), strconv.Itoa(r.moved), unix.RENAME_NOREPLACE)
		if !errors.Is(err, unix.EEXIST) {
			r.again = true
			return err
		}
	}
}

// unlink removes a file or an empty directory. gone is false for a directory that is not empty.
func unlink(dir *os.File, name string) (gone bool, err error) {
	err = unix.Unlinkat(int(dir.Fd()), name, 0)
	if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) {
		err = unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR)
	}
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) {
		return false, nil
	}
	return err == nil || errors.Is(err, unix.ENOENT), ignoreMissing(err)
}

func ignoreMissing(err error) error {
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// openDirAt opens a directory whose entries are to be removed.
func openDirAt(at int, name string) (*os.File, error) {
	if err := allow(at, name); err != nil {
		return nil, err
	}
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: filepath.Base(name), Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// allow gives the owner of a directory all rights to it. It follows no link: an O_PATH descriptor
// refers to the directory itself, whatever its mode is.
func allow(at int, name string) error {
	fd, err := unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: filepath.Base(name), Err: err}
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil || stat.Mode&0o700 == 0o700 {
		return err
	}
	return os.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o700)
}
