package job_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/job"
)

const everyTen = "[[schedules]]\nid = \"ten\"\ntype = \"interval\"\ninterval_minutes = 10\n"

// ticks returns the runs of an agent, with the times of their ticks, in order.
func (r *rig) ticks(agent string) []string {
	r.t.Helper()
	runs, err := r.store.Runs(r.t.Context(), agent, 0)
	must(r.t, err)
	var at []string
	for _, run := range runs {
		at = append(at, run.Tick.UTC().Format("15:04 ")+string(run.Status))
	}
	slices.Sort(at)
	return at
}

// TestTheClockIsSet: the clock jumps an hour forward, and then an hour back. One run replaces all
// ticks that were jumped over. After the jump back, ticks that have not run yet run at their time,
// and no tick runs twice.
func TestTheClockIsSet(t *testing.T) {
	at := func(hour, minute int) time.Time { return time.Date(2026, 3, 2, hour, minute, 30, 0, time.UTC) }
	r := newRig(t, at(0, 35))
	r.agent("often", "echo ran", everyTen)
	r.open()
	r.schedule()
	r.live(at(0, 45)) // 00:40
	r.clock.jump(at(1, 45))
	r.live(at(1, 52)) // 01:40 for all that were jumped over, 01:50
	equal(t, "after a jump forward", r.ticks("often"), []string{"00:40 succeeded", "01:40 succeeded", "01:50 succeeded"})
	r.clock.jump(at(0, 52))
	r.until("often/ten", func(st job.State) bool { return !st.LastTick.After(at(0, 52)) })
	r.live(at(2, 5))
	equal(t, "after a jump back", r.ticks("often"), []string{"00:40 succeeded", "01:00 succeeded", "01:10 succeeded", "01:20 succeeded",
		"01:30 succeeded", "01:40 succeeded", "01:50 succeeded", "02:00 succeeded"})
	r.stop()
	<-r.ended
}

// TestTheClockIsSetInAWait: the clock is set back by an hour while a run waits for its next
// attempt. The run waits no longer than its manifest says, even if the clock is set after the
// planner has read it and before the planner sleeps.
func TestTheClockIsSetInAWait(t *testing.T) {
	start := time.Date(2026, 3, 2, 0, 59, 30, 0, time.UTC)
	back, next := start.Add(-time.Hour), start.Add(6*time.Minute)
	waits := func(st job.State) bool { return !st.NextAt.IsZero() }
	for _, asleep := range []bool{true, false} {
		t.Run(fmt.Sprintf("asleep=%t", asleep), func(t *testing.T) {
			r := newRig(t, start)
			r.agent("fails", `[ -e "$MARK/tried" ] || { touch "$MARK/tried"; exit 1; }`, "[defaults]\nretry_backoff_minutes = [5]\n"+hourly)
			r.open()
			r.clock.beforeSleep = func(until time.Time) {
				if !asleep && until.Equal(next) {
					r.clock.jump(back)
				}
			}
			r.schedule()
			r.until("fails/hourly", func(job.State) bool { return true })
			r.clock.set(start.Add(time.Minute))
			if asleep {
				r.until("fails/hourly", waits)
				r.clock.jump(back)
			}
			st := r.until("fails/hourly", func(st job.State) bool { return waits(st) && !st.NextAt.After(back.Add(5*time.Minute)) })
			r.clock.set(st.NextAt)
			if st = r.until("fails/hourly", func(st job.State) bool { return st.Active == "" }); st.Last != job.Succeeded {
				t.Errorf("%+v", st)
			}
			r.stop()
			<-r.ended
		})
	}
}
