package job_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/job"
)

// stubborn is a program that writes the path of its temporary directory to a file, leaves a file in
// that directory, and runs until it is ended.
const stubborn = `echo "$AGENT_TMPDIR" > "$MARK/tmp"; touch "$AGENT_TMPDIR/left"; echo began; exec sleep 600`

// canceller returns a runner that acts as another process on the same engine.
func (r *rig) canceller() *job.Runner {
	return &job.Runner{Store: r.store, Owner: "somebody", Clock: r.clock}
}

// until waits until the state of a schedule satisfies reached, and returns the state.
func (r *rig) until(key string, reached func(job.State) bool) job.State {
	r.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		states, err := r.store.States(r.t.Context())
		must(r.t, err)
		if st, ok := states[key]; ok && reached(st) {
			return st
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%+v", states)
		}
	}
}

// hears returns a channel that is closed when an agent prints "began".
func (r *rig) hears() chan struct{} {
	began := make(chan struct{})
	r.runner.Watch = func(_ string, l job.Line) {
		if l.Text == "began" {
			close(began)
		}
	}
	return began
}

// start runs an agent in the background.
func (r *rig) start(ctx context.Context, name string, o job.RunOptions) chan job.Run {
	ended := make(chan job.Run, 1)
	m := r.loaded.Manifests[slices.IndexFunc(r.loaded.Manifests, func(m *job.Manifest) bool { return m.Agent.Name == name })]
	go func() {
		run, err := r.runner.RunNow(ctx, m, &m.Schedules[0], o)
		must(r.t, err)
		ended <- run
	}()
	return ended
}

// checkCancelled checks that a run has the status cancelled, and that the schedule counts it
// neither as a failure nor as a success.
func (r *rig) checkCancelled(run job.Run, err error, streak int) {
	t := r.t
	t.Helper()
	if err != nil || run.Status != job.Cancelled || run.Ended.IsZero() || run.Reason == "" {
		t.Errorf("%+v, %v", run, err)
	}
	kept, err := r.store.Run(t.Context(), run.ID)
	if err != nil || kept.Status != job.Cancelled {
		t.Errorf("stored: %+v, %v", kept, err)
	}
	st := r.until(run.Agent+"/"+run.Schedule, func(st job.State) bool { return st.Active == "" })
	if st.Streak != streak || st.Last != job.Cancelled || !st.NextAt.IsZero() {
		t.Errorf("the schedule: %+v", st)
	}
	if tmp := r.lines("tmp"); len(tmp) == 1 {
		if _, err := os.Stat(tmp[0]); err == nil || !strings.HasPrefix(filepath.Base(tmp[0]), "patchbay-") {
			t.Errorf("its temporary directory is left: %s", tmp[0])
		}
	}
}

func TestCancel(t *testing.T) {
	t.Run("a manual run of another process", func(t *testing.T) {
		r := newRig(t, time.Now())
		r.agent("long", stubborn, hourly)
		r.open()
		began := r.hears()
		ended := r.start(t.Context(), "long", job.RunOptions{})
		<-began
		id := r.until("long/hourly", func(st job.State) bool { return st.Active != "" }).Active
		run, err := r.canceller().Cancel(t.Context(), id)
		r.checkCancelled(run, err, 0)
		r.checkCancelled(<-ended, nil, 0)
		equal(t, "told", r.told, nil)
		if !strings.Contains(run.Reason, "somebody") || run.Attempts[0].Result != job.WasCancelled {
			t.Errorf("%+v", run)
		}
		if _, err := r.canceller().Cancel(t.Context(), id); !errors.Is(err, job.ErrOver) {
			t.Errorf("a second Cancel: %v", err)
		}
	})
	t.Run("a run that a schedule has begun", func(t *testing.T) {
		r := newRig(t, time.Date(2026, 3, 2, 0, 30, 0, 0, time.UTC))
		r.agent("long", stubborn, hourly)
		r.open()
		began := r.hears()
		r.schedule()
		r.until("long/hourly", func(job.State) bool { return true })
		r.clock.set(time.Date(2026, 3, 2, 1, 0, 0, 0, time.UTC))
		<-began
		id := r.until("long/hourly", func(st job.State) bool { return st.Active != "" }).Active
		run, err := r.canceller().Cancel(t.Context(), id)
		r.checkCancelled(run, err, 0)
		equal(t, "told", r.told, nil)
	})
	t.Run("a run that waits for its next attempt while its command runs", func(t *testing.T) {
		r := newRig(t, time.Now())
		r.agent("fails", "exit 1", hourly)
		r.open()
		waits := make(chan job.Run, 1)
		ended := r.start(t.Context(), "fails", job.RunOptions{Wait: func(_ context.Context, run job.Run) <-chan struct{} { waits <- run; return nil }})
		run, err := r.canceller().Cancel(t.Context(), (<-waits).ID)
		r.checkCancelled(run, err, 0)
		r.checkCancelled(<-ended, nil, 0)
		if len(r.told) != 1 || !strings.HasSuffix(r.told[0], "attempt_failed") {
			t.Errorf("told %q", r.told)
		}
	})
	t.Run("a run that waits for its next attempt without a runner", func(t *testing.T) {
		r := newRig(t, time.Date(2026, 3, 2, 0, 30, 0, 0, time.UTC))
		r.agent("fails", "exit 1", hourly)
		r.open()
		r.schedule()
		r.until("fails/hourly", func(job.State) bool { return true })
		r.clock.set(time.Date(2026, 3, 2, 1, 0, 0, 0, time.UTC))
		id := r.until("fails/hourly", func(st job.State) bool { return !st.NextAt.IsZero() }).Active
		r.stop()
		<-r.ended
		run, err := r.canceller().Cancel(t.Context(), id)
		r.checkCancelled(run, err, 0)
	})
	t.Run("a run that does not exist", func(t *testing.T) {
		r := newRig(t, time.Now())
		r.agent("long", stubborn, hourly)
		r.open()
		for _, id := range []string{"", "x", "long/hourly/20260101T000000.000Z", "../../x/20260101T000000.000Z"} {
			if _, err := r.canceller().Cancel(t.Context(), id); !errors.Is(err, job.ErrNoRun) {
				t.Errorf("%q: %v", id, err)
			}
		}
	})
}

// TestInterrupted interrupts the command that makes a run: while its program runs, and in each
// wait. The run ends, and the next one can begin immediately.
func TestInterrupted(t *testing.T) {
	r := newRig(t, time.Now())
	r.agent("long", stubborn, hourly)
	r.agent("fails", "exit 1", hourly)
	r.open()
	t.Run("while its program runs", func(t *testing.T) {
		began := r.hears()
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := r.start(ctx, "long", job.RunOptions{})
		<-began
		cancel(errors.New("the person pressed Ctrl-C"))
		run := <-ended
		r.checkCancelled(run, nil, 0)
		if run.Reason != "the person pressed Ctrl-C" {
			t.Errorf("%+v", run)
		}
	})
	r.runner.Watch = nil
	for _, attempt := range []int{1, 2} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := r.start(ctx, "fails", job.RunOptions{Wait: func(_ context.Context, run job.Run) <-chan struct{} {
			if len(run.Attempts) == attempt {
				cancel()
				return nil
			}
			go r.clock.set(run.NextAt)
			return nil
		}})
		run := <-ended
		r.checkCancelled(run, nil, 0)
		if len(run.Attempts) != attempt {
			t.Errorf("interrupted in wait %d: %+v", attempt, run)
		}
		r.clock.set(r.clock.Now().Add(time.Second)) // ids have the time in them
	}
}
