package builtin

import (
	"fmt"
	"sync"
	"time"
)

const (
	// livePause is the least time between two pieces: ten a second look smooth, and cost nothing.
	livePause = 100 * time.Millisecond

	// livePiece is the most of one piece. Of a flood, people see the last of what came meanwhile,
	// as on a terminal.
	livePiece = 8 << 10
)

// live passes an output on to somebody who watches, at his pace: what comes while he is busy waits,
// and the oldest of it is dropped where it is too much.
type live struct {
	show func(string)
	wake chan struct{} // has a place: something is waiting
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

// add takes a piece, which it does not keep.
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
	default: // it is awake
	}
}

// close shows what is left and returns when it is shown.
func (l *live) close() {
	close(l.end)
	<-l.done
}

// run shows what comes, the first at once. It alone calls show.
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

// pass shows what waits. The beginning of a character stays for the next time, unless this is the
// last.
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
