package notify

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/engine/enginetest/embedded"
)

// A clock is set by hand.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// set sets the clock to a time of day.
func (c *clock) set(t *testing.T, day string) {
	t.Helper()
	at, err := time.Parse("15:04:05", day)
	if err != nil {
		t.Fatal(err)
	}
	c.at = at.AddDate(2026, 0, 0)
}

// A timedEvent is an event at a time of day, and the expected decision.
type timedEvent struct {
	at, event  string
	tell       bool
	suppressed int
}

func TestLimiter(t *testing.T) {
	for _, c := range []struct {
		rule   string
		every  time.Duration
		events []timedEvent
	}{
		{"without a limit everything is sent", 0, []timedEvent{
			{"10:00:00", AttemptFailed, true, 0}, {"10:00:01", AttemptFailed, true, 0},
		}},
		{"within the time an event is held back, and then counted", time.Hour, []timedEvent{
			{"10:00:00", AttemptFailed, true, 0}, {"10:05:00", AttemptFailed, false, 0}, {"10:50:00", AttemptFailed, false, 1},
			{"11:00:00", AttemptFailed, true, 2}, {"12:00:00", AttemptFailed, true, 0},
		}},
		{"each event has its own time", time.Hour, []timedEvent{
			{"10:00:00", AttemptFailed, true, 0}, {"10:05:00", TimedOut, true, 0}, {"10:06:00", GivenUp, true, 0}, {"10:07:00", AttemptFailed, false, 0},
		}},
		{"a recovery is sent if its failure was sent", time.Hour, []timedEvent{
			{"10:00:00", AttemptFailed, true, 0}, {"10:05:00", Recovered, true, 0},
			{"11:05:00", AttemptFailed, true, 0}, {"11:06:00", Recovered, true, 0},
			{"11:10:00", AttemptFailed, false, 0}, {"11:11:00", Recovered, false, 0},
		}},
		{"a failure that contradicts the last message is sent at once", time.Hour, []timedEvent{
			{"10:00:00", GivenUp, true, 0}, {"10:05:00", Recovered, true, 0}, {"10:10:00", GivenUp, true, 0},
			{"10:15:00", GivenUp, false, 0}, {"10:20:00", Recovered, true, 0},
		}},
		{"given_up is sent after a failure that was sent", time.Hour, []timedEvent{
			{"10:00:00", GivenUp, true, 0}, {"10:10:00", AttemptFailed, true, 0}, {"10:20:00", GivenUp, true, 0},
		}},
		{"recoveries alone are limited like other events", time.Hour, []timedEvent{
			{"10:00:00", Recovered, true, 0}, {"10:30:00", Recovered, false, 0}, {"11:30:00", Recovered, true, 1},
		}},
		{"every message passes if the schedule is as long as the limit", time.Hour, []timedEvent{
			{"10:00:02", Success, true, 0}, {"11:00:00", Success, true, 0}, {"11:58:59", Success, false, 0},
		}},
		{"a clock that was set back holds back no message", time.Hour, []timedEvent{
			{"10:00:00", Success, true, 0}, {"09:00:00", Success, true, 0},
		}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			clock := &clock{}
			askAbout(t, NewLimiter(InMemory(), clock.now), clock, c.every, c.events)
		})
	}
	for name, jump := range map[string]time.Duration{"forward": time.Hour, "back": -time.Hour} {
		t.Run("a clock that jumps an hour "+name+" lets no message through early and holds back none", func(t *testing.T) {
			wall, passed := &clock{}, time.Duration(0)
			wall.set(t, "10:00:00")
			l := NewLimiter(InMemory(), wall.now)
			l.elapsed = func() time.Duration { return passed }
			tell := func(want bool) {
				t.Helper()
				q := LimitRequest{Key: "k", Event: Success, Every: time.Hour}
				a, err := l.Allow(t.Context(), q)
				if err != nil || a.Send != want {
					t.Fatalf("got %+v, %v", a, err)
				}
				if a.Send {
					if err := l.RecordSent(t.Context(), q, a); err != nil {
						t.Fatal(err)
					}
				}
			}
			pass := func(d time.Duration) { wall.at, passed = wall.at.Add(d), passed+d }
			tell(true)
			pass(10 * time.Minute)
			wall.at = wall.at.Add(jump)
			tell(false)
			pass(50 * time.Minute)
			tell(true)
			pass(10 * time.Minute)
			tell(false)
		})
	}
	t.Run("a message that could not be sent does not count", func(t *testing.T) {
		l := NewLimiter(InMemory(), nil)
		for range 2 {
			if a, err := l.Allow(t.Context(), LimitRequest{Key: "k", Event: Success, Every: time.Hour}); !a.Send || err != nil {
				t.Errorf("got %+v, %v", a, err)
			}
		}
	})
	t.Run("agents do not hold each other back", func(t *testing.T) {
		l := NewLimiter(InMemory(), nil)
		for _, key := range []string{"a", "b"} {
			q := LimitRequest{Key: key, Event: Success, Every: time.Hour}
			a, err := l.Allow(t.Context(), q)
			if err := errors.Join(err, l.RecordSent(t.Context(), q, a)); err != nil || !a.Send {
				t.Errorf("got %+v, %v", a, err)
			}
		}
	})
	t.Run("a mark that cannot be read counts as empty", func(t *testing.T) {
		m := &memory{values: map[string][]byte{"k": []byte(`{"events":`)}}
		if a, err := NewLimiter(m, nil).Allow(t.Context(), LimitRequest{Key: "k", Event: Success, Every: time.Hour}); !a.Send || err != nil {
			t.Errorf("got %+v, %v", a, err)
		}
	})
	t.Run("without marks the event is allowed, with the error", func(t *testing.T) {
		a, err := NewLimiter(lost{}, nil).Allow(t.Context(), LimitRequest{Key: "k", Event: Success, Every: time.Hour})
		if !a.Send || !errors.Is(err, errLost) {
			t.Errorf("got %+v, %v", a, err)
		}
	})
}

// askAbout asks a limiter about events, in order, and checks its decisions.
func askAbout(t *testing.T, l *Limiter, c *clock, every time.Duration, events []timedEvent) {
	t.Helper()
	for _, h := range events {
		c.set(t, h.at)
		q := LimitRequest{Key: "agent", Event: h.event, Every: every}
		a, err := l.Allow(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if a.Send != h.tell || a.Suppressed != h.suppressed {
			t.Errorf("%s %s: got %+v, want %v and %d", h.at, h.event, a, h.tell, h.suppressed)
		}
		if !a.Send {
			continue
		}
		if err := l.RecordSent(t.Context(), q, a); err != nil {
			t.Fatal(err)
		}
	}
}

var errLost = errors.New("lost")

// lost are marks that cannot be read or written.
type lost struct{}

func (lost) Change(context.Context, string, func([]byte) ([]byte, error)) error { return errLost }

func TestMarksInABucket(t *testing.T) {
	e := embedded.Engine(t, t.TempDir())
	b, err := e.Bucket(t.Context(), engine.BucketConfig{Name: "marks"})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("another limiter on the same bucket remembers", func(t *testing.T) {
		clock := &clock{}
		events := []timedEvent{{"10:00:00", Success, true, 0}, {"10:30:00", Success, false, 0}, {"11:00:00", Success, true, 1}}
		for i := range events {
			askAbout(t, NewLimiter(InBucket(b), clock.now), clock, time.Hour, events[i:i+1])
		}
	})
	t.Run("changes at the same time are all kept", func(t *testing.T) {
		const many = 4
		l := NewLimiter(InBucket(b), nil)
		q := LimitRequest{Key: queuedMessage{Route{Name: "r"}, Message{Agent: "a", Schedule: "s"}}.line(), Event: Success, Every: time.Hour}
		if err := l.RecordSent(t.Context(), q, Decision{}); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range many {
			all.Go(func() {
				if a, err := l.Allow(t.Context(), q); a.Send || err != nil {
					t.Errorf("got %+v, %v", a, err)
				}
			})
		}
		all.Wait()
		if a, err := l.Allow(t.Context(), q); a.Suppressed != many || err != nil {
			t.Errorf("got %+v, %v", a, err)
		}
	})
}
