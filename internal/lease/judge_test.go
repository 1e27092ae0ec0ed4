package lease

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestJudge: holders of which only the last heartbeat is known, such as those on other machines.
// Ages are by the engine's clock.
func TestJudge(t *testing.T) {
	const ttl = 15 * time.Second
	ask := func(t *testing.T, j *Judge, s Heartbeat) Verdict {
		t.Helper()
		v, err := j.Ask(t.Context(), "key", Holder{}, func(context.Context) (Heartbeat, error) { return s, nil })
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		rule  string
		first Heartbeat
		later Heartbeat // after two thirds of the TTL
		want  [2]Verdict
	}{
		{"a heartbeat within the TTL holds", Heartbeat{1, ttl}, Heartbeat{1, ttl}, [2]Verdict{Held, Held}},
		{"an old heartbeat without a newer one does not", Heartbeat{1, ttl + 1}, Heartbeat{1, 2 * ttl}, [2]Verdict{Unsure, Free}},
		{"no heartbeat counts as an old one", Heartbeat{}, Heartbeat{}, [2]Verdict{Unsure, Free}},
		{"a clock that jumps an hour forward takes nothing from a living holder", Heartbeat{1, time.Hour}, Heartbeat{2, time.Second}, [2]Verdict{Unsure, Held}},
		{"a clock that jumps forward twice takes nothing either", Heartbeat{1, time.Hour}, Heartbeat{2, time.Hour}, [2]Verdict{Unsure, Unsure}},
		{"a clock that jumps an hour back is noticed", Heartbeat{1, -time.Hour}, Heartbeat{2, time.Second}, [2]Verdict{Ahead, Held}},
		{"a small difference between the clocks of servers is ignored", Heartbeat{1, -time.Second}, Heartbeat{1, time.Second}, [2]Verdict{Held, Held}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := &Judge{TTL: ttl}
				first := ask(t, j, c.first)
				time.Sleep(ttl / 3)
				if again := ask(t, j, c.first); again != first {
					t.Errorf("a moment later: %v after %v", again, first)
				}
				time.Sleep(ttl / 3)
				if later := ask(t, j, c.later); [2]Verdict{first, later} != c.want {
					t.Errorf("got %v and %v, want %v", first, later, c.want)
				}
				if c.want[1] != Unsure && len(j.stale) != 0 {
					t.Errorf("the judge remembers %v", j.stale)
				}
			})
		})
	}
}
