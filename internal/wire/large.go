package wire

import "sync"

// large are buffers beyond keepBuffer, between two messages of that size. A connection keeps none: of 64 plugins that were sent a
// large message once, each would hold it for good. To allocate one for every message makes the garbage collector run
// twice as often for a byte that is sent, and large messages slower than their size. The collector empties the pool.
var large sync.Pool

// roomFor returns buf, or a larger buffer with the same content, that has room for so many bytes more where these make it
// larger than a connection keeps.
func roomFor(buf []byte, more int) []byte {
	size := len(buf) + more
	if size <= keepBuffer || size <= cap(buf) {
		return buf
	}
	if b, ok := large.Get().(*[]byte); ok && cap(*b) >= size {
		return append((*b)[:0], buf...)
	}
	return append(make([]byte, 0, size), buf...)
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
