package job

import (
	"testing"
	"time"
)

func TestWasSet(t *testing.T) {
	for _, c := range []struct {
		rule         string
		wall, passed time.Duration
		want         bool
	}{
		{"a minute is a minute", time.Minute, time.Minute, false},
		{"a clock that is corrected by a little", time.Minute + time.Second, time.Minute, false},
		{"an hour forward", time.Hour + time.Minute, time.Minute, true},
		{"an hour back", time.Minute - time.Hour, time.Minute, true},
		{"a machine that slept", 8 * time.Hour, time.Minute, true},
	} {
		if got := wasSet(c.wall, c.passed); got != c.want {
			t.Errorf("%s: got %v", c.rule, got)
		}
	}
}
