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
	leftoverFew       = 2  // ticks, after which every key and topic exists
	leftoverMany      = 40 // more ticks
	leftoverRemember  = time.Second
	leftoverMost      = 64 // bytes that a run may leave behind; with its own key in the engine it would be about 170
)

// TestRunsLeaveNothing: memory grows with the number of schedules, not of runs. The engine holds
// every key and topic in memory, so no run may have its own. `make soak` also measures the heap:
// after many runs the engine uses hardly more memory than after few. Each measurement opens the
// engine in a new process, without its caches and without the ids that it remembers for a while.
func TestRunsLeaveNothing(t *testing.T) {
	t.Parallel()
	l := newLeftover(t)
	l.live(leftoverFew)
	names := l.names()
	l.live(leftoverFew)
	if now := l.names(); !slices.Equal(now, names) || len(names) < 3*leftoverSchedules {
		t.Errorf("after more runs the engine has the keys and topics\n%q\nwant the same as before\n%q", now, names)
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

// names returns the keys and topics that jobs have in the engine.
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
		l.agent.Schedules = append(l.agent.Schedules, job.Schedule{ID: fmt.Sprintf("s%02d", i), Type: job.TypeInterval, Interval: time.Hour, Retry: job.Retry{Attempts: 1}})
	}
	t.Cleanup(func() { must(t, l.procs.Close()) })
	return l
}

// live lets that many ticks pass.
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

// await waits until the state of every schedule satisfies reached.
func (l *leftover) await(s *job.Store, reached func(job.State) bool) {
	l.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		states, err := s.States(l.t.Context())
		must(l.t, err)
		n := 0
		for _, st := range states {
			if reached(st) {
				n++
			}
		}
		if n == leftoverSchedules {
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("only %d of %d schedules are in the wanted state: %+v", n, leftoverSchedules, states)
		}
	}
}

// heap returns the bytes of heap that a process uses when it has just opened the engine.
func (l *leftover) heap() int64 {
	l.t.Helper()
	time.Sleep(leftoverRemember) // until the engine remembers no ids: when it opens, it reads all records that have ids to remember
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), heapEnv+"="+l.dir)
	cmd.Stderr = testWriter{l.t}
	out, err := cmd.Output()
	must(l.t, err)
	n, err := strconv.ParseInt(string(out), 10, 64)
	must(l.t, err)
	return n
}

// printHeap is the program of the process that heap starts.
func printHeap(dir string) error {
	e, err := engine.Open(context.Background(), engine.Options{Dir: dir, Remember: leftoverRemember})
	if err != nil {
		return err
	}
	least := uint64(1 << 60) // the smallest of several values: other goroutines, such as the check of the engine's blocks, only add to it
	for range 30 {
		time.Sleep(100 * time.Millisecond)
		runtime.GC()
		runtime.GC() // frees the pools
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		least = min(least, m.HeapAlloc)
	}
	fmt.Print(least)
	return e.Close()
}
