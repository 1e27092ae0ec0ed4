package job

import (
	"context"
	"time"
)

// A Clock tells the time. Days pass in seconds where a test says so.
type Clock interface {
	Now() time.Time
	// Sleep returns at that time, or when ctx ends.
	Sleep(ctx context.Context, until time.Time)
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

// Sleep wakes up at least once a minute: the timer of a machine that slept is late, and the clock may have been set.
func (systemClock) Sleep(ctx context.Context, until time.Time) {
	for {
		left := time.Until(until)
		if left <= 0 || ctx.Err() != nil {
			return
		}
		timer := time.NewTimer(min(left, time.Minute))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}
