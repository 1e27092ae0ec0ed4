package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	firstBuffer = 16 << 10  // what a reader starts with: most messages fit, sixteen idle plugins cost nothing
	keepBuffer  = 256 << 10 // a buffer that grew beyond this is not kept once its line is done
	headSize    = 512       // how much of the beginning of a line over the cap is kept, to look for its id
	tailSize    = 64        // and of its end
	emptyReads  = 100       // how often a source may return neither data nor an error
)

// Reader frames lines with a cap. Over the cap it returns [ErrTooLarge] once, discards up to the
// next newline without buffering, and goes on. It never holds more than the cap and one read. Not
// for concurrent use.
type Reader struct {
	src  io.Reader
	max  int    // bytes a line, without its line end
	buf  []byte // buf[next:] is what was read and not yet handed out
	next int
	seen int    // no newline in buf[next:seen]
	home []byte // the first buffer, while buf is one of the pool's
	over bool   // inside a line over the cap
	head []byte // how the last line over the cap began
	tail []byte // how it ended, as far as it was seen
	err  error  // what the source ended with, told once the lines before it are handed out
}

// NewReader returns a reader of lines of at most max bytes, without the newline.
func NewReader(r io.Reader, max int) *Reader {
	return &Reader{src: r, max: max}
}

// ReadLine returns the next line without its newline (or CR LF), as a fresh slice that the caller
// owns. The last line, where it has no newline, comes together with io.EOF.
//
// A time-out of the source (os.ErrDeadlineExceeded) loses nothing: the next ReadLine goes on where
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

// line takes the next whole line out of the buffer. It is borrowed: the next fill overwrites it,
// unless it is kept. A nil line is where one over the cap has ended.
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

// tooLong reports whether a line, or what there is of it, is over the cap. A CR at its end does not
// count.
func (r *Reader) tooLong(line []byte) bool {
	return len(line) > r.max && len(bytes.TrimSuffix(line, cr)) > r.max
}

// refuse remembers how a line over the cap began.
func (r *Reader) refuse(line []byte) error {
	r.head = append(r.head[:0], line[:min(len(line), headSize)]...)
	r.tail = r.tail[:0]
	r.remember(line)
	return r.tooLarge()
}

func (r *Reader) tooLarge() error {
	return fmt.Errorf("%w: the limit is %d bytes", ErrTooLarge, r.max)
}

// remember keeps the end of what there is of a line over the cap.
func (r *Reader) remember(part []byte) {
	if len(part) < tailSize { // keep some of what came before
		drop := max(0, len(r.tail)+len(part)-tailSize)
		r.tail = append(r.tail[:0], r.tail[drop:]...)
		r.tail = append(r.tail, part...)
		return
	}
	r.tail = append(r.tail[:0], part[len(part)-tailSize:]...)
}

// discard drops more of a line over the cap, whose newline is at buf[seen+i], or not there yet. It
// reports whether that was the end of it.
func (r *Reader) discard(i int) bool {
	if r.over = i < 0; r.over {
		i = len(r.buf) - r.seen
	}
	r.remember(r.buf[r.seen : r.seen+i])
	r.next = min(r.seen+i+1, len(r.buf))
	r.seen = r.next
	return !r.over
}

// fill reads once from src, which is the reader's own source or another way to read the same.
func (r *Reader) fill(src io.Reader) error {
	r.makeRoom()
	for range emptyReads {
		n, err := src.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
		if n > 0 {
			return nil // an error that matters will come again
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

// makeRoom makes the buffer ready for a read: it moves what is left to the front, and grows. A
// buffer too large to be kept goes to the pool once its line is done: no line of it is borrowed any
// more, and one that was kept has taken its buffer along.
func (r *Reader) makeRoom() {
	left := len(r.buf) - r.next
	if left == 0 && cap(r.buf) > keepBuffer {
		release(r.buf)
		r.buf, r.next, r.seen = r.home, 0, 0
		r.home = nil
	}
	if cap(r.buf)-len(r.buf) >= firstBuffer/4 && left > 0 {
		return
	}
	to := r.buf[:0]
	if cap(r.buf)-left < firstBuffer/4 {
		to = r.larger(left)
	}
	r.seen -= r.next
	r.buf = append(to, r.buf[r.next:]...)
	r.next = 0
}

// larger is an empty buffer with more room than buf: one of the pool's, or else twice as large, up
// to the cap and one first buffer. To double from the first one on for each large line would
// allocate four times its size and copy it once more.
func (r *Reader) larger(left int) []byte {
	size, most := max(firstBuffer, min(2*cap(r.buf), r.max+firstBuffer), left+firstBuffer/4), r.max+firstBuffer
	if cap(r.buf) == 0 {
		return make([]byte, 0, size)
	}
	b := pooled(size, most)
	if b == nil {
		return make([]byte, 0, size)
	}
	if cap(r.buf) == firstBuffer {
		r.home = r.buf[:0]
	}
	return b
}

// keep makes a part of the line just taken safe to hold on to. Small parts are copied; for a large
// one the reader gives its buffer away and starts another, so that it is never there twice.
func (r *Reader) keep(part []byte) []byte {
	if len(part) < keepBuffer {
		own := make([]byte, len(part))
		copy(own, part)
		return own
	}
	r.seen -= r.next
	r.buf = append(make([]byte, 0, max(firstBuffer, len(r.buf)-r.next)), r.buf[r.next:]...)
	r.next = 0
	return part[:len(part):len(part)]
}

// last takes what follows the last newline, nil where there is nothing.
func (r *Reader) last() []byte {
	line := bytes.TrimSuffix(r.buf[r.next:], cr)
	r.next, r.seen = len(r.buf), len(r.buf)
	if r.over || len(line) == 0 {
		return nil
	}
	return r.keep(line)
}
