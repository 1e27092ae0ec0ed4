package hook

import (
	"context"
	"testing"
	"time"
)

// TestRecentCalls: the durations of the last calls are returned, oldest first. A call that took no
// time counts too, and a time that is too long for 32 bits is limited.
func TestRecentCalls(t *testing.T) {
	var c Counters
	if got := c.Recent(); len(got) != 0 {
		t.Errorf("before any call: %v", got)
	}
	for i := range recentCalls + 3 {
		c.recordDuration(time.Duration(i) * time.Microsecond)
	}
	got := c.Recent()
	if len(got) != recentCalls || got[0] != 3 || got[recentCalls-1] != recentCalls+2 {
		t.Errorf("the last calls, oldest first: %v", got)
	}
	c.recordDuration(200 * time.Hour)
	if got := c.Recent(); got[recentCalls-1] != 1<<32-1 {
		t.Errorf("a call of 200 hours: %d", got[recentCalls-1])
	}
	var counted Counters
	if _, err := Do(t.Context(), &Call{Counters: &counted}, func(context.Context) (int, error) { return 0, nil }); err != nil {
		t.Fatal(err)
	}
	if got := counted.Recent(); len(got) != 1 || got[0] == 0 {
		t.Errorf("a call that took no time: %v", got)
	}
}
