package builtin

import (
	"sync"
	"unicode/utf8"
)

// keepEach is how many bytes of the beginning and of the end of an output are kept.
const keepEach = (shownMax - noteRoom) / 2

// A capture keeps the beginning and the end of an output, and passes the output on to an observer.
// A writer never waits for the observer.
type capture struct {
	live *live

	mu     sync.Mutex // protects the fields below
	head   []byte     // the first keepEach bytes
	tail   []byte     // at least the last keepEach after them; at most twice that
	total  int64
	closed bool // later output is dropped
}

// newCapture returns a capture that calls progress with the output, until close.
func newCapture(progress func(string)) *capture {
	return &capture{live: newLive(progress)}
}

// Write adds a piece of the output. It never fails.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return len(p), nil
	}
	c.live.add(p)
	c.total += int64(len(p))
	n := min(len(p), keepEach-len(c.head))
	c.head = append(c.head, p[:n]...)
	rest := p[n:]
	if len(c.tail)+len(rest) > 2*keepEach {
		all := append(c.tail, rest...)
		c.tail = append(c.tail[:0], all[len(all)-keepEach:]...)
		return len(p), nil
	}
	c.tail = append(c.tail, rest...)
	return len(p), nil
}

// close ends the capture. After it has returned, progress is not called.
func (c *capture) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.live.close()
}

// text returns the output, with a note in place of the omitted part.
func (c *capture) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	tail := c.tail[max(0, len(c.tail)-keepEach):]
	left := c.total - int64(len(c.head)) - int64(len(tail))
	if left == 0 {
		return string(c.head) + string(tail)
	}
	head := wholeCharacters(c.head)
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	left = c.total - int64(len(head)) - int64(len(tail))
	return note(string(head), "%d bytes are left out here", left) + string(tail)
}

// wholeCharacters returns text without an incomplete character at its end.
func wholeCharacters(text []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		last := text[len(text)-i:]
		if utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return text[:len(text)-i]
			}
			break
		}
	}
	return text
}
