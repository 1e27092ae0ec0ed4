package wire

import (
	"math"
	"sync"
)

// large is a pool of buffers over keepBuffer. No connection keeps one: if 64 plugins had each been
// sent a large message once, each would hold such a buffer forever. Allocating one for every
// message would make the garbage collector run twice as often per byte, and large messages slower
// than their size justifies. The collector empties the pool.
var large sync.Pool

// roomFor returns buf, or a larger buffer with the same content. It makes room for more bytes only
// if the result is larger than a connection keeps.
func roomFor(buf []byte, more int) []byte {
	size := len(buf) + more
	if size <= keepBuffer || size <= cap(buf) {
		return buf
	}
	to := pooled(size, math.MaxInt)
	if to == nil {
		to = make([]byte, 0, size)
	}
	return append(to, buf...)
}

// pooled returns a buffer from the pool with room for size bytes and for no more than most, or nil.
func pooled(size, most int) []byte {
	b, ok := large.Get().(*[]byte)
	if !ok {
		return nil
	}
	switch {
	case cap(*b) < size: // left to the collector: if it were put back, it would be returned again instead of a larger one
		return nil
	case cap(*b) > most:
		large.Put(b)
		return nil
	}
	return (*b)[:0]
}

// requestSize estimates the size of a request. It is not too low for a method of plain letters.
func requestSize(method string, params []byte) int { return len(params) + len(method) + 80 }

// release puts an unused buffer into the pool, if a connection would not keep it.
func release(buf []byte) {
	if cap(buf) > keepBuffer {
		buf = buf[:0]
		large.Put(&buf)
	}
}
