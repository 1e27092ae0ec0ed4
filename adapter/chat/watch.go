package chat

import (
	"sync"
	"time"
)

// A watch passes the events of one turn to its observer, one at a time, although tools run in
// parallel.
type watch struct {
	observe       func(Event) // nil: no observer
	session, turn string

	mu     sync.Mutex // held while observe runs; protects the field below
	closed bool       // the turn is over: later output of a tool is dropped
}

func (w *watch) send(e Event) {
	if w.observe == nil {
		return
	}
	e.Session, e.Turn, e.Time = w.session, w.turn, time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.observe(e)
	}
}

func (w *watch) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
}
