package daemon

import (
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/job"
)

// TestNextRuns: the next runs are in the order of time and limited in number. A schedule without
// ticks has an empty list.
func TestNextRuns(t *testing.T) {
	h := newTestHome(t)
	h.write(".config/patchbay/agents/often/agent.toml", "[agent]\nname = \"often\"\n[run]\ncommand = \"true\"\n[[schedules]]\nid = \"five\"\ntype = \"interval\"\ninterval_minutes = 5\n")
	c := h.open("")
	loaded := c.Jobs.Loaded()
	if len(loaded.Manifests) != 1 {
		t.Fatalf("%+v", loaded.Broken)
	}
	now := time.Now()
	runs := nextRuns(&loaded.Manifests[0].Schedules[0], now)
	if len(runs) != mostNextRuns || !runs[0].After(now) || runs[1].Sub(runs[0]) != 5*time.Minute {
		t.Errorf("%v", runs)
	}
	if runs := nextRuns(&job.Schedule{}, now); runs == nil || len(runs) != 0 {
		t.Errorf("runs of an empty schedule: %v", runs)
	}
}
