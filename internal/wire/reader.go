package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	leastBuffer = 4 << 10   // the first size of a buffer, and the least room for a read: a handshake fits
	usualBuffer = 16 << 10  // the next size, with many calls under way or a longer line
	keepBuffer  = 256 << 10 // a buffer larger than this is not kept after its line
	headSize    = 512       // bytes of the beginning of a line over the limit that are kept, to look for its id
	tailSize    = 64        // bytes of its end that are kept
	emptyReads  = 100       // how often a source may return neither data nor an error
)

// A Reader splits its input into lines of limited length. For a longer line it returns
// [ErrTooLarge] once, discards the line without buffering, and goes on with the next one. It never
// holds more than the limit and one read. It is not safe for concurrent use.
type Reader struct {
	src  io.Reader
	max  int    // bytes per line, without its line end
	buf  []byte // buf[next:] was read and is not yet returned
	next int
	seen int    // there is no newline in buf[next:seen]
	home []byte // the first buffer, while buf is from the pool
	over bool   // inside a line over the limit
	head []byte // the beginning of the last line over the limit
	tail []byte // its end, as far as it was read
	err  error  // the error of the source, returned after the lines before it
}

// NewReader returns a reader of lines of at most max bytes, without the newline.
func NewReader(r io.Reader, max int) *Reader {
	return &Reader{src: r, max: max}
}

// ReadLine returns the next line without its newline (or CR LF), in a new slice that the caller
// owns. A last line without a newline is returned together with io.EOF.
//
// A timeout of the source (os.ErrDeadlineExceeded) loses nothing: the next ReadLine continues where
// this one stopped.
func (r *Reader) ReadLine() ([]byte, error) {
	for {
		line, ok, err := r.line()
		if err != nil {
			return nil, err
		}
		if ok && line == nil {
			continue
		}
		if ok {
			return r.keep(line), nil
		}
		if r.err != nil {
			return r.last(), r.err
		}
		if err := r.fill(r.src); err != nil {
			return nil, err
		}
	}
}

// line returns the next whole line in the buffer. The line is borrowed: the next fill overwrites
// it, unless keep is called. A nil line with ok true marks the end of a line over the limit.
func (r *Reader) line() (line []byte, ok bool, err error) {
	i := bytes.IndexByte(r.buf[r.seen:], '\n')
	if r.over {
		return nil, r.discard(i), nil
	}
	if i < 0 {
		r.seen = len(r.buf)
		if r.tooLong(r.buf[r.next:]) {
			r.over = true
			return nil, false, r.refuse(r.buf[r.next:])
		}
		return nil, false, nil
	}
	line = r.buf[r.next : r.seen+i]
	r.next = r.seen + i + 1
	r.seen = r.next
	if r.tooLong(line) {
		return nil, false, r.refuse(line)
	}
	return bytes.TrimSuffix(line, cr), true, nil
}

var cr = []byte{'\r'}

// tooLong reports whether a line, or its first part, is over the limit. A CR at its end does not
// count.
func (r *Reader) tooLong(line []byte) bool {
	return len(line) > r.max && len(bytes.TrimSuffix(line, cr)) > r.max
}

// refuse stores the beginning of a line over the limit.
func (r *Reader) refuse(line []byte) error {
	r.head = append(r.head[:0], line[:min(len(line), headSize)]...)
	r.tail = r.tail[:0]
	r.remember(line)
	return r.tooLarge()
}

func (r *Reader) tooLarge() error {
	return fmt.Errorf("%w: the limit is %d bytes", ErrTooLarge, r.max)
}

// remember stores the end of the part of a line over the limit that was read so far.
func (r *Reader) remember(part []byte) {
	if len(part) < tailSize { // keep some of the earlier part
		drop := max(0, len(r.tail)+len(part)-tailSize)
		r.tail = append(r.tail[:0], r.tail[drop:]...)
		r.tail = append(r.tail, part...)
		return
	}
	r.tail = append(r.tail[:0], part[len(part)-tailSize:]...)
}

// discard drops more of a line over the limit, whose newline is at buf[seen+i] if i is not
// negative. It reports whether the line has ended.
func (r *Reader) discard(i int) bool {
	if r.over = i < 0; r.over {
		i = len(r.buf) - r.seen
	}
	r.remember(r.buf[r.seen : r.seen+i])
	r.next = min(r.seen+i+1, len(r.buf))
	r.seen = r.next
	return !r.over
}

// fill reads once from src, which is the reader's own source or another way to read the same pipe.
func (r *Reader) fill(src io.Reader) error {
	r.makeRoom()
	for range emptyReads {
		n, err := src.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
		if n > 0 {
			return nil // a lasting error will be returned again
		}
		if errors.Is(err, io.EOF) {
			r.err = err
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// makeRoom prepares the buffer for a read: it moves the rest to the front, and grows the buffer if
// necessary. A buffer over keepBuffer goes to the pool when all its lines have been returned. By
// then no line is in use: a borrowed line is valid only until the next read, and a large line that
// the caller owns is in a buffer that keep has given away.
func (r *Reader) makeRoom() {
	left := len(r.buf) - r.next
	if left == 0 && cap(r.buf) > keepBuffer {
		release(r.buf)
		r.buf, r.next, r.seen = r.home, 0, 0
		r.home = nil
	}
	if cap(r.buf)-len(r.buf) >= leastBuffer && left > 0 {
		return
	}
	to := r.buf[:0]
	if cap(r.buf)-left < leastBuffer {
		to = r.larger(left)
	}
	r.seen -= r.next
	r.buf = append(to, r.buf[r.next:]...)
	r.next = 0
}

// larger returns an empty buffer with more room than buf: one from the pool, or a new one twice as
// large. Its size is at most usualBuffer over the limit. Without the pool, each large line would
// grow the buffer again from its first size, which allocates four times the size of the line and
// copies it once more.
func (r *Reader) larger(left int) []byte {
	if cap(r.buf) == 0 {
		return make([]byte, 0, leastBuffer)
	}
	size, most := max(usualBuffer, min(2*cap(r.buf), r.max+usualBuffer), left+leastBuffer), r.max+usualBuffer
	if size == usualBuffer {
		return make([]byte, 0, size)
	}
	b := pooled(size, most)
	if b == nil {
		return make([]byte, 0, size)
	}
	if cap(r.buf) <= usualBuffer {
		r.home = r.buf[:0]
	}
	return b
}

// keep returns a part of the last line that the caller may keep. A small part is copied. For a
// large one the reader gives its buffer away and starts another, so that the part is never in
// memory twice.
func (r *Reader) keep(part []byte) []byte {
	if len(part) < keepBuffer {
		own := make([]byte, len(part))
		copy(own, part)
		return own
	}
	r.seen -= r.next
	r.buf = append(make([]byte, 0, max(usualBuffer, len(r.buf)-r.next)), r.buf[r.next:]...)
	r.next = 0
	return part[:len(part):len(part)]
}

// last returns the bytes after the last newline, or nil.
func (r *Reader) last() []byte {
	line := bytes.TrimSuffix(r.buf[r.next:], cr)
	r.next, r.seen = len(r.buf), len(r.buf)
	if r.over || len(line) == 0 {
		return nil
	}
	return r.keep(line)
}
