// Package plainfile reads files that people or plugins have written: configurations, manifests,
// code. It reads only regular files, and only up to a bound. Opening a named pipe waits for a
// writer, reading a device may never end, and opening some devices has an effect. The package
// imports nothing of the module.
package plainfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrKind is wrapped by the error for anything but a regular file.
var ErrKind = errors.New("not a regular file")

// A SizeError is returned for a file that is larger than allowed.
type SizeError struct {
	Path string
	Most int // bytes
}

func (e *SizeError) Error() string { return fmt.Sprintf("%s: larger than %s", e.Path, size(e.Most)) }

// size formats a number of bytes, in KiB if it is a multiple.
func size(n int) string {
	if n >= 1<<10 && n%(1<<10) == 0 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// Open opens a regular file for reading. It follows links and never blocks.
//
// It checks the kind of the file twice. The check before opening avoids opening a device. The check
// after opening is there because another file may have taken its place.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		at.Op = "open" // the operation that the caller requested
	}
	return open(path, info, err, os.OpenFile)
}

// DeadLink returns the link on the way to path, or path itself, that leads to nothing; "": there is
// none. A file that is missing for this reason was meant to exist.
func DeadLink(path string) string {
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); err == nil {
			if _, err = os.Stat(at); errors.Is(err, fs.ErrNotExist) {
				return at
			}
			return ""
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

// OpenIn is like Open for a file in a root. For a link that leads out of the root, the error is the
// root's.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	info, err := root.Stat(name)
	return open(name, info, err, root.OpenFile)
}

// open opens the file whose Stat returned info and err, and checks the kind of the open file again.
func open(path string, info fs.FileInfo, err error, openFile func(string, int, fs.FileMode) (*os.File, error)) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	if err := check(path, info); err != nil {
		return nil, err
	}
	f, err := openFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = check(path, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Read reads a regular file. If the file is larger than most, in bytes, the error is a
// [*SizeError].
func Read(path string, most int) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadFrom(f, most)
}

// ReadFrom is like Read for a file that [Open] has opened.
func ReadFrom(f *os.File, most int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > most {
		return nil, &SizeError{Path: f.Name(), Most: most}
	}
	return data, nil
}

func check(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("it is %s: %w", kind(info.Mode()), ErrKind)}
}

// kind describes a file that is not regular.
func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}
