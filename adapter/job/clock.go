package job

import (
	"context"
	"time"
)

// A Clock tells the time. Tests use one in which days pass in seconds.
type Clock interface {
	Now() time.Time
	// Sleep returns when the clock shows the time that until says, or when ctx ends. now is the
	// time that the caller has read from the clock. If the clock was set after that, Sleep returns
	// early, and the caller must read the time again.
	Sleep(ctx context.Context, now, until time.Time)
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

// Sleep wakes up at least once a minute, since the timer of a machine that slept is late and since
// the clock may have been set.
func (systemClock) Sleep(ctx context.Context, now, until time.Time) {
	for {
		before := now
		if now = time.Now(); wasSet(now.Round(0).Sub(before.Round(0)), now.Sub(before)) {
			return
		}
		left := until.Sub(now)
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

// wasSet reports whether the wall clock was set, or the machine slept. It compares how far the wall
// clock and the monotonic clock have advanced, because the monotonic clock may stand still while
// the machine sleeps.
func wasSet(wall, passed time.Duration) bool { return (wall - passed).Abs() > setBackBy/10 }
