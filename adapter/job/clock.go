package job

import (
	"context"
	"time"
)

// A Clock tells the time. Days pass in seconds where a test says so.
type Clock interface {
	Now() time.Time
	// Sleep returns at that time, when ctx ends, or when the clock was set. The caller must read the time again.
	Sleep(ctx context.Context, until time.Time)
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

// Sleep wakes up at least once a minute: the timer of a machine that slept is late, and the clock may have been set.
func (systemClock) Sleep(ctx context.Context, until time.Time) {
	for {
		before := time.Now()
		left := until.Sub(before)
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
		if now := time.Now(); wasSet(now.Round(0).Sub(before.Round(0)), now.Sub(before)) {
			return
		}
	}
}

// wasSet tells by how far two clocks have gone on whether that on the wall was set meanwhile, or stood still while the machine slept.
func wasSet(wall, passed time.Duration) bool { return (wall - passed).Abs() > setBackBy/10 }
