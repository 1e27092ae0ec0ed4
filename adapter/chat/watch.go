package chat

import (
	"sync"
	"time"
)

// A watch tells one observer of one turn what happens, one event at a time: tools run in parallel,
// and observers need not care.
type watch struct {
	observe       func(Event) // nil: nobody looks
	session, turn string

	mu     sync.Mutex // held while observe runs; protects the field below
	closed bool       // the turn is over: a tool that goes on talking is not heard
}

func (w *watch) tell(e Event) {
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
