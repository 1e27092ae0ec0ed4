//go:build unix

package job_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/plugtest/soak"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

const (
	heapEnv           = "PATCHBAY_TEST_JOB_HEAP"
	leftoverSchedules = 20
	leftoverFew       = 2  // ticks, after which everything is there once
	leftoverMany      = 40 // more ticks
	leftoverRemember  = time.Second
	leftoverMost      = 64 // bytes that a run may leave behind. With a name of its own in the engine it would be some 170
)

// TestRunsLeaveNothing: memory is bounded by the number of schedules, not of runs. What the engine
// has a name for stays in memory, so that no run may have one. `make soak` also weighs it: what an
// engine has in memory after many runs is what it had after few. It is opened anew for that, in a
// process of its own: without its caches, and what it remembers for a while.
func TestRunsLeaveNothing(t *testing.T) {
	t.Parallel()
	l := newLeftover(t)
	l.live(leftoverFew)
	names := l.names()
	l.live(leftoverFew)
	if now := l.names(); !slices.Equal(now, names) || len(names) < 3*leftoverSchedules {
		t.Errorf("after more runs the engine has the names\n%q\nwant those it had\n%q", now, names)
	}
	if !soak.Long() {
		return
	}
	few := l.heap()
	l.live(leftoverMany)
	many := l.heap()
	runs := leftoverMany * leftoverSchedules
	each := float64(many-few) / float64(runs)
	t.Logf("%d bytes, and after %d more runs %d: %.1f a run", few, runs, many, each)
	if each > leftoverMost {
		t.Errorf("a run leaves %.1f bytes behind, want at most %d", each, leftoverMost)
	}
}

// names are the keys and topics of all that the jobs keep in the engine.
func (l *leftover) names() []string {
	l.t.Helper()
	e, err := engine.Open(l.t.Context(), engine.Options{Dir: l.dir, Remember: leftoverRemember})
	must(l.t, err)
	defer func() { must(l.t, e.Close()) }()
	var names []string
	for _, bucket := range []string{"job_states", "job_beats"} {
		b, err := e.Bucket(l.t.Context(), engine.BucketConfig{Name: bucket})
		must(l.t, err)
		keys, err := b.Keys(l.t.Context(), "")
		must(l.t, err)
		for _, key := range keys {
			names = append(names, bucket+" "+key)
		}
	}
	for _, stream := range []string{"job_history", "job_output"} {
		s, err := e.Stream(l.t.Context(), engine.StreamConfig{Name: stream})
		must(l.t, err)
		records, err := s.Read(l.t.Context(), "", 0, 0)
		must(l.t, err)
		for _, r := range records {
			names = append(names, stream+" "+r.Topic)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// leftover is an agent that has run for some ticks.
type leftover struct {
	t     *testing.T
	dir   string
	clock *fakeClock
	agent *job.Manifest
	procs *proc.Group
}

func newLeftover(t *testing.T) *leftover {
	l := &leftover{t: t, dir: t.TempDir(), clock: newFakeClock(time.Date(2026, 3, 2, 0, 30, 0, 0, time.UTC)), procs: proc.NewGroup(nil)}
	l.agent = &job.Manifest{Agent: job.Agent{Name: "many", Monitor: true}, Run: job.Program{Command: "/bin/echo", Args: []string{"hello"}, WorkingDir: l.dir}, Dir: l.dir}
	for i := range leftoverSchedules {
		l.agent.Schedules = append(l.agent.Schedules, job.Schedule{ID: fmt.Sprintf("s%02d", i), Type: job.TypeInterval, Interval: time.Hour, Retry: job.Retry{MaxRetries: 1}})
	}
	t.Cleanup(func() { must(t, l.procs.Close()) })
	return l
}

// live lets so many ticks pass.
func (l *leftover) live(ticks int) {
	l.t.Helper()
	e, err := engine.Open(l.t.Context(), engine.Options{Dir: l.dir, Remember: leftoverRemember})
	if err != nil {
		l.t.Fatal(err)
	}
	r := &job.Runner{Host: noPlugins{}, Store: job.NewStore(e), Procs: l.procs, Environ: os.Environ(), Clock: l.clock}
	s := job.NewScheduler(r, func() []*job.Manifest { return []*job.Manifest{l.agent} })
	ctx, stop := context.WithCancel(l.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	l.await(r.Store, func(job.State) bool { return true })
	for range ticks {
		tick := l.clock.Now().Add(time.Hour).Truncate(time.Hour)
		l.clock.set(tick)
		l.await(r.Store, func(st job.State) bool { return st.Active == "" && st.LastTick.Equal(tick) && st.Last == job.Succeeded })
	}
	stop()
	must(l.t, <-ended)
	must(l.t, e.Close())
}

// await waits until every schedule has come so far.
func (l *leftover) await(s *job.Store, far func(job.State) bool) {
	l.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		states, err := s.States(l.t.Context())
		must(l.t, err)
		n := 0
		for _, st := range states {
			if far(st) {
				n++
			}
		}
		if n == leftoverSchedules {
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("%d of %d schedules have come so far: %+v", n, leftoverSchedules, states)
		}
	}
}

// heap returns the bytes of heap that a process uses when it has just opened the engine.
func (l *leftover) heap() int64 {
	l.t.Helper()
	time.Sleep(leftoverRemember) // until nothing has to be remembered, for which the engine would read it all
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), heapEnv+"="+l.dir)
	cmd.Stderr = testWriter{l.t}
	out, err := cmd.Output()
	must(l.t, err)
	n, err := strconv.ParseInt(string(out), 10, 64)
	must(l.t, err)
	return n
}

// printHeap is that process.
func printHeap(dir string) error {
	e, err := engine.Open(context.Background(), engine.Options{Dir: dir, Remember: leftoverRemember})
	if err != nil {
		return err
	}
	least := uint64(1 << 60) // what others do meanwhile can only add to it, as does the engine while it checks its blocks
	for range 30 {
		time.Sleep(100 * time.Millisecond)
		runtime.GC()
		runtime.GC() // what was in pools
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		least = min(least, m.HeapAlloc)
	}
	fmt.Print(least)
	return e.Close()
}
