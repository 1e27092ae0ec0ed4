package job

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine/enginetest/embedded"
	"github.com/patchbay-dev/patchbay/internal/lease"
)

// openStore returns a store on its own engine.
func openStore(t *testing.T) (*Store, *parts) {
	t.Helper()
	e := embedded.Engine(t, t.TempDir())
	s := NewStore(e)
	p, err := s.parts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s, p
}

var historyBegan = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// runAt returns a run that took a second, that many minutes after historyBegan.
func runAt(agent string, minute int, status Status) *Run {
	at := historyBegan.Add(time.Duration(minute) * time.Minute)
	r := &Run{ID: runID(agent, "s", at, false), Agent: agent, Schedule: "s", Tick: at, Began: at, Ended: at.Add(time.Second), Status: status, Most: 1}
	if status != Skipped {
		r.Attempts = []Attempt{{Number: 1, Began: at, Ended: r.Ended, Result: OK}}
	}
	return r
}

// appendAll appends runs to the history, in this order.
func appendAll(t *testing.T, p *parts, runs ...*Run) {
	t.Helper()
	for _, r := range runs {
		if err := p.appendHistory(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHistory(t *testing.T) {
	s, p := openStore(t)
	const minutes = 700 // more records than one read returns
	for i := range minutes {
		appendAll(t, p, runAt("busy", i, Succeeded))
		if i%100 == 0 {
			appendAll(t, p, runAt("idle", i, Succeeded))
		}
	}
	t.Run("a run is found by its id", func(t *testing.T) {
		for _, want := range []*Run{runAt("busy", 0, ""), runAt("busy", 1, ""), runAt("busy", 333, ""), runAt("busy", minutes-1, ""), runAt("idle", 0, ""), runAt("idle", 600, "")} {
			if got, err := s.Run(t.Context(), want.ID); err != nil || got.ID != want.ID || got.Status != Succeeded {
				t.Errorf("%s: %+v, %v", want.ID, got, err)
			}
		}
	})
	t.Run("a run that does not exist is not found", func(t *testing.T) {
		for _, id := range []string{runAt("busy", minutes, "").ID, runAt("idle", 1, "").ID, runAt("nobody", 1, "").ID, "busy/s", "busy", "", "busy/s/yesterday"} {
			if _, err := s.Run(t.Context(), id); !errors.Is(err, ErrNoRun) {
				t.Errorf("%q: %v, want ErrNoRun", id, err)
			}
		}
	})
	t.Run("the newest are listed first", func(t *testing.T) {
		for _, c := range []struct {
			agent       string
			limit, want int
			first       *Run
		}{
			{"busy", 20, 20, runAt("busy", minutes-1, "")}, {"idle", 3, 3, runAt("idle", 600, "")}, {"idle", 0, 7, runAt("idle", 600, "")},
			{"", 5, 5, runAt("busy", minutes-1, "")}, {"", 0, minutes + 7, runAt("busy", minutes-1, "")}, {"nobody", 5, 0, nil},
		} {
			runs, err := s.Runs(t.Context(), c.agent, c.limit)
			if err != nil || len(runs) != c.want || c.first != nil && runs[0].ID != c.first.ID {
				t.Errorf("%q, %d: %d runs, %.1v, %v", c.agent, c.limit, len(runs), runs, err)
			}
			for i := 1; i < len(runs); i++ {
				if runs[i].Began.After(runs[i-1].Began) {
					t.Fatalf("%q, %d: %s is before %s", c.agent, c.limit, runs[i-1].ID, runs[i].ID)
				}
			}
		}
	})
	t.Run("of two records of a run the one with more attempts counts, else the first", func(t *testing.T) {
		second := runAt("twice", 1, GivenUp)
		appendAll(t, p, runAt("twice", 1, Skipped), runAt("twice", 1, Succeeded), second)
		got, err := s.Run(t.Context(), second.ID)
		runs, lerr := s.Runs(t.Context(), "twice", 0)
		if err != nil || lerr != nil || got.Status != Succeeded || len(runs) != 1 || runs[0].Status != Succeeded {
			t.Errorf("%+v, %+v, %v, %v", got, runs, err, lerr)
		}
	})
	t.Run("a run is found although a clock was wrong", func(t *testing.T) {
		ahead := runAt("skewed", 5000, Succeeded)
		appendAll(t, p, ahead, runAt("skewed", 1, Succeeded), runAt("skewed", 2, Succeeded))
		if got, err := s.Run(t.Context(), ahead.ID); err != nil || got.ID != ahead.ID {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// newRunner returns a runner, an agent with the schedule s, and the events that the runner reports.
func newRunner(s *Store) (*Runner, *Manifest, *[]Event) {
	var told []Event
	m := &Manifest{Agent: Agent{Name: "a", Monitor: true}, Schedules: []Schedule{{ID: "s", Retry: Retry{Attempts: 2}}}}
	return &Runner{Store: s, Owner: "me", Report: func(t Report) { told = append(told, t.Event) }}, m, &told
}

// claimAt claims a tick.
func claimAt(ctx context.Context, r *Runner, m *Manifest, minute int) (*claim, error) {
	return r.claim(ctx, newOrder(m, &m.Schedules[0], historyBegan.Add(time.Duration(minute)*time.Minute), false), m, &m.Schedules[0])
}

// die changes the page, so that the process that makes the active run no longer exists.
func die(t *testing.T, p *parts) {
	t.Helper()
	err := p.update(t.Context(), "a", "s", time.Now(), func(pg *page) error {
		pg.Hold.Holder = lease.Self()
		pg.Hold.Holder.Start++ // as if another process had had this process id
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTicksAreTakenOnce(t *testing.T) {
	s, p := openStore(t)
	r, m, told := newRunner(s)
	ok := Attempt{Number: 1, Result: OK, Ended: time.Now()}
	take := func(t *testing.T, minute int) *claim {
		t.Helper()
		c, err := claimAt(t.Context(), r, m, minute)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	status := func(minute int) string {
		run, err := s.Run(t.Context(), runAt("a", minute, "").ID)
		return fmt.Sprintf("%s %s %v", run.Status, run.Reason, err)
	}
	first := take(t, 10)
	t.Run("an active tick is not taken again", func(t *testing.T) {
		if first == nil || take(t, 10) != nil {
			t.Error("the tick was not taken exactly once")
		}
	})
	t.Run("a tick that comes meanwhile is skipped, and recorded", func(t *testing.T) {
		if got := status(11); take(t, 11) != nil || status(11) != "skipped the previous run is still in progress: "+first.run.ID+" <nil>" {
			t.Errorf("%s, then %s", got, status(11))
		}
	})
	if err := first.trySaveResult(t.Context(), ok, ""); err != nil {
		t.Fatal(err)
	}
	t.Run("a tick whose run is over is not taken again", func(t *testing.T) {
		if take(t, 10) != nil || take(t, 11) != nil || status(10) != "succeeded  <nil>" {
			t.Errorf("taken again: %s", status(10))
		}
	})
	t.Run("a tick that comes after a later one is recorded as skipped", func(t *testing.T) {
		if take(t, 5) != nil || status(5) != "skipped "+errLate.Error()+" <nil>" {
			t.Errorf("%s", status(5))
		}
	})
	t.Run("a result is not saved if another process has taken over the run", func(t *testing.T) {
		c := take(t, 12)
		die(t, p)
		if _, err := r.reap(t.Context(), m, &m.Schedules[0]); err != nil {
			t.Fatal(err)
		}
		if err := c.trySaveResult(t.Context(), ok, ""); !errors.Is(err, errLost) {
			t.Errorf("%v, want errLost", err)
		}
		if run, err := s.Run(t.Context(), c.run.ID); err != nil || run.Status != Waiting || run.Attempts[0].Result != CutOff {
			t.Errorf("%+v, %v", run, err)
		}
	})
	if got := fmt.Sprint(*told); got != "[success attempt_failed]" {
		t.Errorf("told %s", got)
	}
}

// TestReapUpdatesThePage: if a process died after it wrote the end of a run into the history, but
// before it updated the page, reap updates the page.
func TestReapUpdatesThePage(t *testing.T) {
	s, p := openStore(t)
	r, m, told := newRunner(s)
	c, err := claimAt(t.Context(), r, m, 10)
	if err != nil {
		t.Fatal(err)
	}
	done := c.run
	done.Status, done.Ended = Succeeded, time.Now()
	done.Attempts = []Attempt{{Number: 1, Began: done.Began, Ended: done.Ended, Result: OK}}
	appendAll(t, p, &done)
	if _, err := r.reap(t.Context(), m, &m.Schedules[0]); err != nil {
		t.Fatal(err)
	}
	if run, err := s.Run(t.Context(), done.ID); err != nil || run.Status != Running {
		t.Errorf("a run with a recent heartbeat: %+v, %v", run, err)
	}
	die(t, p)
	if _, err := r.reap(t.Context(), m, &m.Schedules[0]); err != nil {
		t.Fatal(err)
	}
	states, err := s.States(t.Context())
	if st := states["a/s"]; err != nil || st.Active != "" || st.LastRun != done.ID || st.Last != Succeeded || st.Streak != 1 {
		t.Errorf("%+v, %v", st, err)
	}
	if runs, err := s.Runs(t.Context(), "", 0); err != nil || len(runs) != 1 || runs[0].Status != Succeeded || len(*told) != 0 {
		t.Errorf("%+v, %v, told %v", runs, err, *told)
	}
}

// TestOrdersAreForgotten: for each schedule, the scheduler remembers only the last order of each
// kind.
func TestOrdersAreForgotten(t *testing.T) {
	s, p := openStore(t)
	r, m, _ := newRunner(s)
	scheduler := NewScheduler(r, nil)
	const ticks = 10
	for i := range ticks {
		for attempt := 1; attempt <= 3; attempt++ {
			o := newOrder(m, &m.Schedules[0], historyBegan.Add(time.Duration(i)*time.Minute), false)
			o.Attempt = attempt
			for range 2 {
				if err := scheduler.order(t.Context(), p, o); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if n, err := p.queue.Len(t.Context()); err != nil || n != 3*ticks || len(scheduler.queued) != 2 {
		t.Errorf("%d orders in the queue, %d remembered, %v", n, len(scheduler.queued), err)
	}
}
