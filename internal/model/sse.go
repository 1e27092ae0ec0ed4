package model

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxEvent limits one event of a stream. Some servers send a whole reply as one event; the longest
// replies of today's models have about 4 MiB of text.
const maxEvent = 16 << 20

var errBigEvent = fmt.Errorf("an event of the stream has more than %d MiB", maxEvent>>20)

// An event is one server-sent event.
type event struct {
	name string
	data []byte // not empty; valid until the next event is read
}

// An eventReader reads a text/event-stream, as the HTML standard describes it: lines end in LF, CR
// LF or CR, an empty line ends an event, and an incomplete event at the end does not count. Ids and
// reconnection times are ignored. It never buffers more than maxEvent.
type eventReader struct {
	in      *bufio.Reader
	started bool   // the first line was read: no byte order mark can follow
	afterCR bool   // the last line ended in CR: an LF right after it belongs to the same line end
	line    []byte // the current line
	data    []byte // the data of the current event
}

func newEventReader(r io.Reader) *eventReader { return &eventReader{in: bufio.NewReader(r)} }

// next returns the next event with data. At the end of the stream it returns io.EOF.
func (r *eventReader) next() (event, error) {
	r.data = r.data[:0]
	name := ""
	for {
		line, err := r.readLine()
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 {
			if data := bytes.TrimSpace(r.data); len(data) > 0 {
				return event{name: name, data: data}, nil
			}
			name, r.data = "", r.data[:0]
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = string(value)
		case "data":
			r.data = append(append(r.data, value...), '\n')
		}
	}
}

// readLine reads a line without its end. It does not wait for a full buffer, so that events are
// passed on as they come.
func (r *eventReader) readLine() ([]byte, error) {
	r.line = r.line[:0]
	for {
		if _, err := r.in.Peek(1); err != nil {
			return nil, err
		}
		chunk, err := r.in.Peek(r.in.Buffered())
		if err != nil {
			return nil, err
		}
		if r.afterCR && chunk[0] == '\n' {
			r.afterCR = false
			r.discard(1)
			continue
		}
		r.afterCR = false
		end := bytes.IndexAny(chunk, "\r\n")
		if end < 0 {
			r.line = append(r.line, chunk...)
			r.discard(len(chunk))
		} else {
			r.line = append(r.line, chunk[:end]...)
			r.afterCR = chunk[end] == '\r'
			r.discard(end + 1)
		}
		switch {
		case len(r.line)+len(r.data) > maxEvent:
			return nil, errBigEvent
		case end >= 0:
			return r.withoutMark(), nil
		}
	}
}

// discard drops bytes that were peeked at.
func (r *eventReader) discard(n int) {
	if _, err := r.in.Discard(n); err != nil {
		panic(errors.Join(errors.New("discard of buffered bytes"), err)) // bufio guarantees that it cannot fail
	}
}

// withoutMark returns the line. It removes a byte order mark from the first line of a stream.
func (r *eventReader) withoutMark() []byte {
	if r.started {
		return r.line
	}
	r.started = true
	return bytes.TrimPrefix(r.line, []byte("\uFEFF"))
}
