package program

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// headSize is how much of a file the kernel looks at to tell what it is, and the longest #! line it
// knows (BINPRM_BUF_SIZE).
const headSize = 256

// Head returns the first bytes of a regular file, as many as the kernel looks at. It is empty for
// anything else, and waits for nothing.
func Head(file string) []byte {
	f, err := openRegular(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, headSize)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return head[:n]
}

// openRegular opens a file to read it. Anything but a regular file is an error, at once: a named
// pipe must not make the host wait.
func openRegular(file string) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: file, Err: errors.New("not a regular file")}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
