package tui

import "time"

// A stopwatch tells how long something has taken. It stands still while the person is asked
// something: that time is theirs.
type stopwatch struct {
	started time.Time
	paused  time.Time     // since when it stands still; zero: it runs
	off     time.Duration // how long it stood still before
}

func startStopwatch() stopwatch { return stopwatch{started: time.Now()} }

func (w *stopwatch) elapsed() time.Duration {
	now := w.paused
	if now.IsZero() {
		now = time.Now()
	}
	return now.Sub(w.started) - w.off
}

// pause stops the watch, or lets it run on.
func (w *stopwatch) pause(stop bool) {
	switch {
	case stop && w.paused.IsZero():
		w.paused = time.Now()
	case !stop && !w.paused.IsZero():
		w.off += time.Since(w.paused)
		w.paused = time.Time{}
	}
}

// pauseClocks stops the clock of the turn while the person is asked something, and of each tool
// that asks.
func (s *screen) pauseClocks() {
	if s.turn == nil {
		return
	}
	s.turn.clock.pause(len(s.questions) > 0)
	for _, tool := range s.turn.tools {
		tool.clock.pause(s.asks(tool.use.CallID))
	}
}

// asks tells whether a call waits for an answer.
func (s *screen) asks(callID string) bool {
	for _, q := range s.questions {
		if q.call.ID == callID {
			return true
		}
	}
	return false
}
