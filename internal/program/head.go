package program

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// headSize is how much of a file the kernel reads to recognise its format, and the maximum length
// of a #! line (BINPRM_BUF_SIZE).
const headSize = 256

// Head returns the first bytes of a regular file, as many as the kernel reads. It returns nil for
// any other file, and does not block.
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

// openRegular opens a regular file for reading. For any other file it returns an error at once: a
// named pipe must not block the host.
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
