// Package plainfile reads files that people or plugins have put somewhere: configurations,
// manifests, code. Only a regular file is read, and only up to a bound. A named pipe would keep the
// reader waiting for a writer, a device may never end, and merely opening some devices does
// something. It imports nothing of the module.
package plainfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrKind is wrapped by the error of what is not a regular file.
var ErrKind = errors.New("not a regular file")

// A SizeError is the error of a file that is larger than its reader expects.
type SizeError struct {
	Path string
	Most int // bytes
}

func (e *SizeError) Error() string { return fmt.Sprintf("%s: larger than %s", e.Path, size(e.Most)) }

// size writes a number of bytes in KiB where it is a whole number of them.
func size(n int) string {
	if n >= 1<<10 && n%(1<<10) == 0 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// Open opens a regular file, or what a link to one leads to, for reading. It never waits.
//
// The kind is looked at twice. The first look keeps a device from being opened at all; the second
// is at the file that is open, since another may have taken its place meanwhile.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		at.Op = "open" // what was asked for
	}
	return open(path, info, err, os.OpenFile)
}

// OpenIn is Open for a file within a root, out of which no link leads. The error of one that does
// is the root's own.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	info, err := root.Stat(name)
	return open(name, info, err, root.OpenFile)
}

// open opens what was looked at, without and with an error, and looks again.
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

// Read reads a regular file of at most that many bytes; a larger one is a [*SizeError].
func Read(path string, most int) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadFrom(f, most)
}

// ReadFrom is Read for a file that [Open] has opened.
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

// kind names what is not a regular file.
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
