package tui

import "time"

// A stopwatch measures how long something takes. It stops while the user is asked a question.
type stopwatch struct {
	started time.Time
	paused  time.Time     // since when it is stopped; zero: it runs
	off     time.Duration // how long it was stopped before
}

func startStopwatch() stopwatch { return stopwatch{started: time.Now()} }

func (w *stopwatch) elapsed() time.Duration {
	now := w.paused
	if now.IsZero() {
		now = time.Now()
	}
	return now.Sub(w.started) - w.off
}

// pause stops the watch, or starts it again.
func (w *stopwatch) pause(stop bool) {
	switch {
	case stop && w.paused.IsZero():
		w.paused = time.Now()
	case !stop && !w.paused.IsZero():
		w.off += time.Since(w.paused)
		w.paused = time.Time{}
	}
}

// pauseClocks stops the clock of the turn, and of each tool that asks, while the user is asked a
// question.
func (s *screen) pauseClocks() {
	if s.turn == nil {
		return
	}
	s.turn.clock.pause(len(s.questions) > 0)
	for _, tool := range s.turn.tools {
		tool.clock.pause(s.asks(tool.use.CallID))
	}
}

// asks reports whether a call waits for an answer.
func (s *screen) asks(callID string) bool {
	for _, q := range s.questions {
		if q.call.ID == callID {
			return true
		}
	}
	return false
}
