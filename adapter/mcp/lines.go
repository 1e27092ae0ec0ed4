package mcp

import (
	"bufio"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// lastGrace is how long Read waits for pending answers at the end of the input. A client that needs
// more time keeps its pipe open.
const lastGrace = 2 * time.Second

// lines are the two streams of a client over pipes. Read reports the end of the input only after
// all requests have been answered. So a client may write its requests, close the pipe and read the
// answers.
type lines struct {
	in  *bufio.Reader
	out io.Writer

	rest []byte // of a line that did not fit into the buffer of Read's caller

	mu   sync.Mutex     // protects the fields below
	open map[string]int // how many requests have no answer yet, by their ids; there is no entry for 0
	none chan struct{}  // closed when open becomes empty; nil: no goroutine waits
}

func newLines(in io.Reader, out io.Writer) *lines {
	return &lines{in: bufio.NewReaderSize(in, 64<<10), out: out, open: make(map[string]int)}
}

// Read returns one line, or a part of it.
func (l *lines) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		line, err := l.in.ReadSlice('\n')
		if len(line) == 0 && err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			l.awaitAnswers()
			return 0, err
		}
		l.count(line, 1)
		l.rest = append(l.rest[:0], line...)
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// Write writes one message.
func (l *lines) Write(p []byte) (int, error) {
	n, err := l.out.Write(p)
	l.count(p, -1)
	return n, err
}

// count counts requests that are read and answers that are written. A line that is too long to be
// parsed is not counted, so its answer is not waited for.
func (l *lines) count(line []byte, by int) {
	o, err := rawjson.Parse(line)
	if err != nil || len(o.Get("id")) == 0 {
		return
	}
	method, isRequest := o.String("method")
	if isRequest != (by > 0) || method == "subscriptions/listen" { // it is never answered
		return
	}
	id := string(o.Get("id"))
	if text, ok := rawjson.Unquote(o.Get("id")); ok {
		id = string(rawjson.String(text)) // the answer may escape it differently
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[id] += by; l.open[id] <= 0 { // below 0: the request was not counted
		delete(l.open, id)
	}
	if len(l.open) == 0 && l.none != nil {
		close(l.none)
		l.none = nil
	}
}

// awaitAnswers waits until all requests are answered, at most for lastGrace.
func (l *lines) awaitAnswers() {
	l.mu.Lock()
	if len(l.open) == 0 {
		l.mu.Unlock()
		return
	}
	none := make(chan struct{})
	l.none = none
	l.mu.Unlock()
	timer := time.NewTimer(lastGrace)
	defer timer.Stop()
	select {
	case <-none:
	case <-timer.C:
	}
}

// Close does not close the streams, which belong to the caller of Run.
func (l *lines) Close() error { return nil }
