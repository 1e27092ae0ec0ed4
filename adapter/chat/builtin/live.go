package builtin

import (
	"fmt"
	"sync"
	"time"
)

const (
	// livePause is the shortest time between two pieces. Ten a second look smooth and cost little.
	livePause = 100 * time.Millisecond

	// livePiece is the largest piece. If more has arrived, the user sees the last part, as on a
	// terminal.
	livePiece = 8 << 10
)

// live passes output on to an observer without making the writer wait. Output that arrives while
// the observer is busy waits; if it is too much, the oldest is dropped.
type live struct {
	show func(string)
	wake chan struct{} // has a value while output waits
	end  chan struct{} // closed by close
	done chan struct{} // closed when run has ended

	mu      sync.Mutex // protects the fields below
	waiting []byte
	dropped int
}

func newLive(show func(string)) *live {
	l := &live{show: show, wake: make(chan struct{}, 1), end: make(chan struct{}), done: make(chan struct{})}
	go l.run()
	return l
}

// add adds a piece. It does not keep p.
func (l *live) add(p []byte) {
	l.mu.Lock()
	l.waiting = append(l.waiting, p...)
	if over := len(l.waiting) - livePiece; over > 0 {
		l.dropped += over
		l.waiting = append(l.waiting[:0], l.waiting[over:]...)
	}
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default: // it was woken already
	}
}

// close shows the rest and returns when that is shown.
func (l *live) close() {
	close(l.end)
	<-l.done
}

// run shows the output, the first piece immediately. Only run calls show.
func (l *live) run() {
	defer close(l.done)
	for {
		select {
		case <-l.wake:
			l.pass(false)
		case <-l.end:
			l.pass(true)
			return
		}
		select {
		case <-time.After(livePause):
		case <-l.end:
		}
	}
}

// pass shows the waiting output. An incomplete character stays for the next call, unless this is
// the last.
func (l *live) pass(last bool) {
	l.mu.Lock()
	piece := l.waiting
	if !last {
		piece = wholeCharacters(piece)
	}
	text := clean(string(piece))
	dropped := l.dropped
	l.waiting = append(l.waiting[:0], l.waiting[len(piece):]...)
	l.dropped = 0
	l.mu.Unlock()
	if dropped > 0 {
		text = fmt.Sprintf("[%d bytes not shown]\n", dropped) + text
	}
	if text != "" {
		l.show(text)
	}
}
