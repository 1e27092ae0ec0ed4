package wire

import (
	"math"
	"sync"
)

// large is a pool of buffers over keepBuffer. No connection keeps one: if 64 plugins had each been
// sent a large message once, each would hold such a buffer forever. Without the pool, every large
// message would allocate one. Then the garbage collector would run more often, and a large message
// would cost more per byte than a small one. The collector empties the pool.
var large sync.Pool

// roomFor makes room in buf for a number of bytes. If they do not fit, and the result would be over
// keepBuffer, it returns a larger buffer with the same content. Otherwise it returns buf: append is
// good enough for a small message.
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

// requestSize estimates the size of a request. The estimate is high enough if no character of the
// method needs an escape.
func requestSize(method string, params []byte) int { return len(params) + len(method) + 80 }

// release puts an unused buffer into the pool, if a connection would not keep it.
func release(buf []byte) {
	if cap(buf) > keepBuffer {
		buf = buf[:0]
		large.Put(&buf)
	}
}
