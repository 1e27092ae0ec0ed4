package job_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// TestAFullDiskDelaysTheResult: an attempt that ends while the disk is full is recorded when there is room again, as what it was. It is not taken for the attempt of
// a process that died, and not made twice.
func TestAFullDiskDelaysTheResult(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", syscall.MS_NODEV, "size=40m,mode=0700"); errors.Is(err, syscall.EPERM) {
		t.Skipf("no right to mount a small disk: %v; as root this test runs", err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	filling, ran := filepath.Join(dir, "filling"), filepath.Join(t.TempDir(), "ran")
	clock := newFakeClock(time.Date(2026, 3, 2, 0, 30, 0, 0, time.UTC))
	script := "echo ran >>" + ran + "; cat /dev/zero >" + filling + " 2>/dev/null; exit 0"
	agent := &job.Manifest{Agent: job.Agent{Name: "filler", Monitor: true}, Run: job.Program{Command: "/bin/sh", Args: []string{"-c", script}, WorkingDir: dir}, Dir: dir,
		Schedules: []job.Schedule{{ID: "hourly", Type: job.TypeInterval, Interval: time.Hour, Retry: job.Retry{MaxRetries: 3}}}}
	e, err := engine.Open(t.Context(), engine.Options{Dir: filepath.Join(dir, "engine")})
	must(t, err)
	defer func() { must(t, e.Close()) }()
	procs := proc.NewGroup(nil)
	defer func() { must(t, procs.Close()) }()
	told := make(chan struct{}, 100)
	r := &job.Runner{Host: noPlugins{}, Store: job.NewStore(e), Procs: procs, Environ: os.Environ(), Clock: clock, Logger: countWarnings(told)}
	s := job.NewScheduler(r, func() []*job.Manifest { return []*job.Manifest{agent} })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() { stop(); must(t, <-ended) }()
	state := func(holds func(job.State) bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			states, err := r.Store.States(t.Context())
			must(t, err)
			for _, st := range states {
				if holds(st) {
					return
				}
			}
			if time.Now().After(deadline) {
				t.Fatalf("%+v", states)
			}
		}
	}
	state(func(job.State) bool { return true })
	clock.set(clock.Now().Add(time.Hour).Truncate(time.Hour))
	select {
	case <-told: // the result cannot be written
	case <-time.After(time.Minute):
		t.Fatal("nobody says that the result cannot be written")
	}
	must(t, os.Remove(filling))
	state(func(st job.State) bool { return st.Active == "" && st.Last == job.Succeeded })
	if text, err := os.ReadFile(ran); err != nil || string(text) != "ran\n" {
		t.Errorf("it ran %q, %v", text, err)
	}
}

// countWarnings is a log that passes on that a result could not be written.
func countWarnings(told chan<- struct{}) *slog.Logger {
	return slog.New(slog.NewTextHandler(warnings(told), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

type warnings chan<- struct{}

func (w warnings) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("cannot be recorded")) {
		select {
		case w <- struct{}{}:
		default:
		}
	}
	return len(line), nil
}
