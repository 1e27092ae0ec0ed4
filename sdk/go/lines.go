package plugin

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// lines reads lines of limited length.
type lines struct {
	in   *bufio.Reader
	long []byte // a line that did not fit the reader's buffer
}

var errTooLong = fmt.Errorf("a message of more than %d bytes", mostLine)

func newLines(r io.Reader) *lines { return &lines{in: bufio.NewReaderSize(r, 64<<10)} }

// next returns a line, which is valid until the next call. The last one may lack its newline.
func (l *lines) next() ([]byte, error) {
	line, err := l.in.ReadSlice('\n')
	if err == nil {
		return line, nil
	}
	l.long = append(l.long[:0], line...)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = l.in.ReadSlice('\n')
		if len(l.long)+len(line) > mostLine {
			return nil, l.skip(err)
		}
		l.long = append(l.long, line...)
	}
	if errors.Is(err, io.EOF) && len(l.long) > 0 {
		err = nil
	}
	return l.long, err
}

// skip skips the rest of a line that is too long.
func (l *lines) skip(err error) error {
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = l.in.ReadSlice('\n')
	}
	l.long = nil
	if err != nil {
		return err
	}
	return errTooLong
}

// rest returns all of the input, of which the first line was already read.
func (l *lines) rest(first []byte) ([]byte, error) {
	all := bytes.Clone(first)
	more, err := io.ReadAll(io.LimitReader(l.in, mostLine))
	return append(all, more...), err
}

func trim(line []byte) []byte { return bytes.TrimSpace(line) }
