package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

const manyRuns = 10_000

// The series of the sections about jobs.
const (
	nameRunOfTrue  = "a run of true"
	nameBareTrue   = "bare spawn of true"
	nameRunsEarly  = "after 2,500 runs and a pause"
	nameRunsMiddle = "after 5,000 runs and a pause"
	nameRunsLate   = "after 10,000 runs and a pause"
	trueProgram    = "/bin/true"
	jobsInterval   = time.Hour
	jobsAtOnceWait = 10 * time.Minute // ends a section that hangs
)

// noHost is a host without plugins.
type noHost struct{}

func (noHost) Fire(_ context.Context, p hook.Point, _ any) (*hook.Outcome, error) {
	return &hook.Outcome{Point: p, Verdict: hook.Continue}, nil
}

// A jobRig is a scheduler with one agent that has very many schedules, all due at once.
type jobRig struct {
	dir    string
	engine *engine.Engine
	procs  *proc.Group
	store  *job.Store
	total  int

	mu    sync.Mutex // protects the fields below
	done  int
	marks map[int]chan struct{} // by number of runs; closed when so many are done
}

func openJobRig(ctx context.Context, total int) (*jobRig, error) {
	dir, err := os.MkdirTemp("", "bench-jobs-")
	if err != nil {
		return nil, err
	}
	w := &jobRig{dir: dir, total: total, procs: proc.NewGroup(slog.New(slog.DiscardHandler)), marks: make(map[int]chan struct{})}
	if w.engine, err = engine.Open(ctx, engine.Options{Dir: filepath.Join(dir, "engine")}); err != nil {
		return nil, errors.Join(err, w.close())
	}
	w.store = job.NewStore(w.engine)
	return w, nil
}

func (w *jobRig) close() error {
	errs := []error{w.procs.Close()}
	if w.engine != nil {
		errs = append(errs, w.engine.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(w.dir))...)
}

// mark returns a channel that is closed when n runs are done.
func (w *jobRig) mark(n int) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.marks[n] == nil {
		w.marks[n] = make(chan struct{})
	}
	return w.marks[n]
}

// countSuccess counts a run that succeeded. It ignores all other reports.
func (w *jobRig) countSuccess(r job.Report) {
	if r.Event != job.Success {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done++
	if c := w.marks[w.done]; c != nil {
		close(c)
	}
}

// An aheadClock is ahead of the real time.
type aheadClock struct{ by time.Duration }

func (c aheadClock) Now() time.Time { return time.Now().Add(c.by) }

func (aheadClock) Sleep(ctx context.Context, _, _ time.Time) {
	timer := time.NewTimer(200 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// agent returns an agent with one schedule for each run that is made at once.
func (w *jobRig) agent() *job.Manifest {
	m := &job.Manifest{Agent: job.Agent{Name: "many", Monitor: true}, Run: job.Program{Command: trueProgram, WorkingDir: w.dir}, Dir: w.dir}
	for i := range w.total {
		m.Schedules = append(m.Schedules, job.Schedule{ID: fmt.Sprintf("s%05d", i), Type: job.TypeInterval, Interval: jobsInterval, Retry: job.Retry{Attempts: 1}})
	}
	return m
}

// run makes one run of every schedule. It calls at when the number of all runs so far reaches a
// mark. tick counts from 1. A scheduler that ends before the last mark is an error.
func (w *jobRig) run(ctx context.Context, m *job.Manifest, tick int, at func(n int), marks ...int) error {
	ctx, cancel := context.WithTimeout(ctx, jobsAtOnceWait)
	defer cancel()
	if tick == 1 {
		if err := w.showSchedules(ctx, w.scheduler(m, 0)); err != nil {
			return err
		}
	}
	inner, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- w.scheduler(m, time.Duration(tick)*jobsInterval).Run(inner) }() // by its clock every schedule is due
	for _, n := range marks {
		select {
		case <-w.mark(n):
			at(n)
		case err := <-ended: // also when ctx ends
			return errors.Join(fmt.Errorf("the scheduler ended after %d of %d runs", w.made(), tick*w.total), err, ctx.Err())
		}
	}
	stop()
	return <-ended
}

// made returns how many runs have succeeded so far.
func (w *jobRig) made() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done
}

func (w *jobRig) scheduler(m *job.Manifest, ahead time.Duration) *job.Scheduler {
	r := &job.Runner{Host: noHost{}, Store: w.store, Procs: w.procs, Environ: os.Environ(), Report: w.countSuccess, Clock: aheadClock{ahead}}
	return job.NewScheduler(r, func() []*job.Manifest { return []*job.Manifest{m} })
}

// showSchedules runs a scheduler until it has seen every schedule: only ticks after that are due.
func (w *jobRig) showSchedules(ctx context.Context, s *job.Scheduler) error {
	inner, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(inner) }()
	for {
		states, err := w.store.States(ctx)
		if err != nil || len(states) == w.total {
			stop()
			return errors.Join(err, <-ended)
		}
		select {
		case err := <-ended: // also when ctx ends
			return errors.Join(fmt.Errorf("the scheduler ended when it had seen %d of %d schedules", len(states), w.total), err, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// measureJobs times runs of true, from the queue to the record, and for comparison bare spawns of
// true.
func measureJobs(ctx context.Context, e effort) ([]Series, error) {
	total := manyRuns / 10
	w, err := openJobRig(ctx, total)
	if err != nil {
		return nil, err
	}
	runs, bare := Series{Name: nameRunOfTrue}, Series{Name: nameBareTrue}
	var marks []int
	for n := total / 10; n <= total; n += total / 10 {
		marks = append(marks, n)
	}
	last := time.Now()
	err = w.run(ctx, w.agent(), 1, func(int) {
		now := time.Now()
		runs.Rounds = append(runs.Rounds, []float64{millis(now.Sub(last)) / float64(total/10)})
		last = now
	}, marks...)
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	for range marks {
		start := time.Now()
		for range 20 {
			if err := exec.Command(trueProgram).Run(); err != nil {
				return nil, errors.Join(err, w.close())
			}
		}
		bare.Rounds = append(bare.Rounds, []float64{millis(time.Since(start)) / 20})
	}
	return []Series{bare, runs}, w.close()
}

// measureJobHeap measures the live heap after 2,500, 5,000 and 10,000 queued runs of the same
// schedules. Before each measurement it pauses until the engine's caches have expired.
func measureJobHeap(ctx context.Context, _ effort) ([]Series, error) {
	const ticks = 4
	w, err := openJobRig(ctx, manyRuns/ticks)
	if err != nil {
		return nil, err
	}
	m := w.agent()
	names := map[int]string{1: nameRunsEarly, 2: nameRunsMiddle, ticks: nameRunsLate}
	var heaps []Series
	for tick := 1; tick <= ticks; tick++ {
		if err := w.run(ctx, m, tick, func(int) {}, tick*w.total); err != nil {
			return nil, errors.Join(err, w.close())
		}
		if name := names[tick]; name != "" {
			time.Sleep(cachesExpire)
			heaps = append(heaps, Series{Name: name, Rounds: [][]float64{{liveHeap(), liveHeap(), liveHeap()}}})
		}
	}
	return heaps, w.close()
}
