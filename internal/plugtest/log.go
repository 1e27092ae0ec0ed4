package plugtest

import (
	"bytes"
	"sync"
)

// A Log stores log output for tests.
type Log struct {
	mu  sync.Mutex // protects buf
	buf bytes.Buffer
}

// Write appends.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// String returns everything so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
