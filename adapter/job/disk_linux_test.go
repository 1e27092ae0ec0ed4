package job_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// A smallDisk is a runner whose engine is on a small disk, and an agent that fills it.
type smallDisk struct {
	t            *testing.T
	runner       *job.Runner
	agent        *job.Manifest
	engine       *engine.Engine
	clock        *fakeClock
	filling, ran string
	full         string        // a file that exists when the agent has filled the disk
	told         chan struct{} // receives a value if a result cannot be written
}

// newSmallDisk returns a smallDisk. The agent writes down that it ran, and fills the disk. After
// that it runs the shell command that is passed as then.
func newSmallDisk(t *testing.T, then string) *smallDisk {
	t.Helper()
	dir := plugtest.SmallDisk(t, "40m")
	d := &smallDisk{t: t, filling: filepath.Join(dir, "filling"), ran: filepath.Join(t.TempDir(), "ran"), told: make(chan struct{}, 100),
		clock: newFakeClock(time.Date(2026, 3, 2, 0, 30, 0, 0, time.UTC))}
	d.full = d.ran + "-full"
	script := "echo ran >>" + d.ran + "; cat /dev/zero >" + d.filling + " 2>/dev/null; touch " + d.full + "; " + then
	d.agent = &job.Manifest{Agent: job.Agent{Name: "filler", Monitor: true}, Run: job.Program{Command: "/bin/sh", Args: []string{"-c", script}, WorkingDir: dir}, Dir: dir,
		Schedules: []job.Schedule{{ID: "hourly", Type: job.TypeInterval, Interval: time.Hour, Retry: job.Retry{Attempts: 3}}}}
	e, err := engine.Open(t.Context(), engine.Options{Dir: filepath.Join(dir, "engine")})
	must(t, err)
	d.engine = e
	t.Cleanup(func() { must(t, e.Close()) })
	procs := proc.NewGroup(nil)
	t.Cleanup(func() { must(t, procs.Close()) })
	d.runner = &job.Runner{Host: noPlugins{}, Store: job.NewStore(e), Procs: procs, Environ: os.Environ(), Clock: d.clock, Logger: countWarnings(d.told)}
	return d
}

// schedule runs a scheduler until the test ends, and sets the clock to the agent's next tick.
func (d *smallDisk) schedule() {
	d.t.Helper()
	s := job.NewScheduler(d.runner, func() []*job.Manifest { return []*job.Manifest{d.agent} })
	ctx, stop := context.WithCancel(d.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	d.t.Cleanup(func() { stop(); must(d.t, <-ended) })
	d.await(func(job.State) bool { return true })
	d.clock.set(d.clock.Now().Add(time.Hour).Truncate(time.Hour))
}

// await waits for a state of the schedule.
func (d *smallDisk) await(holds func(job.State) bool) {
	d.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		states, err := d.runner.Store.States(d.t.Context())
		must(d.t, err)
		for _, st := range states {
			if holds(st) {
				return
			}
		}
		if time.Now().After(deadline) {
			d.t.Fatalf("%+v", states)
		}
	}
}

// silence waits until the disk is full, and then fills the last page of the file that stores
// heartbeats, so that no heartbeat can be written.
func (d *smallDisk) silence() {
	d.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for _, err := os.Stat(d.full); err != nil && time.Now().Before(deadline); _, err = os.Stat(d.full) {
		time.Sleep(5 * time.Millisecond)
	}
	beats, err := d.engine.Bucket(d.t.Context(), engine.BucketConfig{Name: "job_beats"})
	must(d.t, err)
	for !errors.Is(err, engine.ErrDisk) {
		if time.Now().After(deadline) {
			d.t.Fatalf("there is still room for heartbeats: %v", err)
		}
		_, err = beats.Put(d.t.Context(), "another/schedule", []byte(strings.Repeat("x", 100)))
	}
}

// makeRoom waits until a result could not be written, and frees the disk. Then it checks that the
// run succeeds and was made once.
func (d *smallDisk) makeRoom() {
	d.t.Helper()
	select {
	case <-d.told:
	case <-time.After(time.Minute):
		d.t.Fatal("no message says that the result cannot be written")
	}
	must(d.t, os.Remove(d.filling))
	d.await(func(st job.State) bool { return st.Active == "" && st.Last == job.Succeeded })
	if text, err := os.ReadFile(d.ran); err != nil || string(text) != "ran\n" {
		d.t.Errorf("it ran %q, %v", text, err)
	}
}

// TestAFullDiskDelaysTheResult: an attempt that ends while the disk is full is recorded with its
// result when there is room again. It does not count as cut off, and is not made twice.
func TestAFullDiskDelaysTheResult(t *testing.T) {
	t.Parallel()
	d := newSmallDisk(t, "exit 0")
	d.schedule()
	d.makeRoom()
}

// silentBeat is the time between two heartbeats in these tests. A run ends itself if it cannot
// write a heartbeat for 7.5 s. The agents of these tests take longer than that. While the disk is
// not full, even a busy machine writes a heartbeat in less time.
const silentBeat = 3 * time.Second

// TestAFullDiskStopsNoProgram: if the disk is full, a run goes on even if it cannot write a
// heartbeat for longer than is allowed. Its result is recorded when there is room again. No other
// process can have taken the run over meanwhile.
func TestAFullDiskStopsNoProgram(t *testing.T) {
	t.Parallel()
	d := newSmallDisk(t, "sleep 10; exit 0")
	d.runner.Store.SetBeat(silentBeat)
	d.schedule()
	d.silence()
	d.makeRoom()
}

// TestAFullDiskDelaysARunByHand: a manual run with Insist is recorded when there is room again.
// Without Insist, RunNow returns the error immediately.
func TestAFullDiskDelaysARunByHand(t *testing.T) {
	t.Run("with Insist", func(t *testing.T) {
		t.Parallel()
		d := newSmallDisk(t, "sleep 10; exit 0")
		d.runner.Store.SetBeat(silentBeat)
		ended := make(chan error, 1)
		go func() {
			_, err := d.runner.RunNow(t.Context(), d.agent, &d.agent.Schedules[0], job.RunOptions{Insist: true})
			ended <- err
		}()
		d.silence()
		d.makeRoom()
		must(t, <-ended)
	})
	t.Run("without Insist", func(t *testing.T) {
		d := newSmallDisk(t, "exit 0")
		if _, err := d.runner.RunNow(t.Context(), d.agent, &d.agent.Schedules[0], job.RunOptions{}); !errors.Is(err, engine.ErrDisk) {
			t.Errorf("error %v; want one that says that the disk is full", err)
		}
		must(t, os.Remove(d.filling))
	})
}

// countWarnings returns a logger that sends a value to told if a result cannot be written.
func countWarnings(told chan<- struct{}) *slog.Logger {
	return slog.New(slog.NewTextHandler(warnings(told), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

type warnings chan<- struct{}

func (w warnings) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("cannot record the result")) {
		select {
		case w <- struct{}{}:
		default:
		}
	}
	return len(line), nil
}
