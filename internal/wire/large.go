package wire

import (
	"math"
	"sync"
)

// large are buffers beyond keepBuffer, between two messages of that size. A connection keeps none:
// of 64 plugins that were sent a large message once, each would hold it for good. To allocate one
// for every message makes the garbage collector run twice as often for a byte that is sent, and
// large messages slower than their size. The collector empties the pool.
var large sync.Pool

// roomFor returns buf, or a larger buffer with the same content, that has room for so many bytes
// more where these make it larger than a connection keeps.
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

// pooled is a buffer of the pool's with room for size bytes and for no more than most; nil where
// there is none.
func pooled(size, most int) []byte {
	b, ok := large.Get().(*[]byte)
	if !ok {
		return nil
	}
	switch {
	case cap(*b) < size: // left to the collector: put back, it would come again instead of a larger one
		return nil
	case cap(*b) > most:
		large.Put(b)
		return nil
	}
	return (*b)[:0]
}

// requestSize is about how long a request is, and not less for a method of plain letters.
func requestSize(method string, params []byte) int { return len(params) + len(method) + 80 }

// release gives back a buffer that nobody refers to any more, where a connection would not keep it.
func release(buf []byte) {
	if cap(buf) > keepBuffer {
		buf = buf[:0]
		large.Put(&buf)
	}
}
