package mcp

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/patchbay-dev/patchbay/internal/wire"
)

// An event is one server-sent event.
type event struct {
	data []byte
}

// events reads a stream of server-sent events, each bounded in size.
type events struct {
	in    *bufio.Reader
	most  int           // bytes of one event
	id    string        // of the last event that had one
	retry time.Duration // the pause that the server wants before the stream is requested again
}

func newEvents(r io.Reader, most int) *events {
	return &events{in: bufio.NewReaderSize(r, 32<<10), most: most}
}

// next returns the next event with data. At the end of the stream the error is io.EOF; an
// incomplete event is dropped.
func (e *events) next() (event, error) {
	var data []byte
	some, size := false, 0
	for {
		line, err := e.line(&size)
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 {
			if some && len(data) > 0 {
				return event{data: data}, nil
			}
			data, some, size = nil, false, 0
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if some {
				data = append(data, '\n')
			}
			data, some = append(data, value...), true
		case "id":
			if !bytes.ContainsRune(value, 0) {
				e.id = string(value)
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				e.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// line returns one line without its end, which is LF, CRLF or CR. size counts the bytes of the
// event.
func (e *events) line(size *int) ([]byte, error) {
	var line []byte
	for {
		b, err := e.in.ReadByte()
		if err != nil {
			return nil, err
		}
		if *size++; *size > e.most {
			return nil, fmt.Errorf("%w: an event of more than %d bytes", wire.ErrTooLarge, e.most)
		}
		switch b {
		case '\n':
			return line, nil
		case '\r':
			if next, err := e.in.Peek(1); err == nil && next[0] == '\n' {
				_, _ = e.in.Discard(1) // cannot fail: Peek has seen it
			}
			return line, nil
		}
		line = append(line, b)
	}
}
