package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// Names of the series of the section that compares the sandbox with bubblewrap.
const (
	nameOrdinary      = "plain process per call, ordinary user"
	nameOrdinaryBoxed = "in its sandbox, built ahead, ordinary user, without patchbay-jail"
	nameOrdinaryFirst = "in its sandbox, built for the call, ordinary user, without patchbay-jail"
	nameBwrap         = "in bwrap --unshare-all"
)

// measureBwrap compares the time that a sandbox adds to a process with the time that bubblewrap
// adds. The section runs as an ordinary user, from a directory without patchbay-jail. From the
// third call on, a program's sandbox is built ahead, if there was time for that since the last
// call. For the first two calls, and for calls that follow too quickly, it is built during the
// call.
func measureBwrap(ctx context.Context, e effort) ([]Series, error) {
	names := []string{nameOrdinary, nameOrdinaryBoxed, nameOrdinaryFirst, nameBwrap}
	cat, err := exec.LookPath("cat")
	if err != nil {
		return skipAll("no cat on this machine", names...), nil
	}
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		return skipAll("no bwrap on this machine; its package is called bubblewrap", names...), nil
	}
	group := proc.NewGroup(nil)
	defer group.Close()
	if err := sandbox.Probe(ctx, group).Possible(); err != nil {
		return skipAll(err.Error(), names...), nil
	}
	payload := payloadOf(smallCall)
	plain := proc.Spec{Path: cat, Env: []string{"PATH=" + os.Getenv("PATH")}}
	boxed, wrapped := plain, plain
	first := func(ctx context.Context) error {
		s := plain
		s.Box = sandbox.New(sandbox.Options{}) // a new box each time, so that none was built ahead
		return runOnce(group.Run, s, payload)(ctx)
	}
	boxed.Box = sandbox.New(sandbox.Options{})
	wrapped.Path = bwrap
	wrapped.Args = []string{"--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", cat}
	if err := runOnce(group.Run, wrapped, payload)(ctx); err != nil {
		return skipAll(fmt.Sprintf("bwrap does not run here: %v", err), names...), nil
	}
	const batch = 5
	return roundRobin(ctx, e.of(40), []entrant{
		{nameOrdinary, timedRuns(runOnce(group.Run, plain, payload), batch, 0)},
		{nameOrdinaryBoxed, preparedRuns(group, runOnce(group.Run, boxed, payload), batch)},
		{nameOrdinaryFirst, timedRuns(first, batch, 0)},
		{nameBwrap, timedRuns(runOnce(group.Run, wrapped, payload), batch, 0)},
	})
}

// preparedRuns is timedRuns, but waits before each call until a sandbox is built ahead, as it is
// when a person or a model pauses between calls. It also waits at the end, so that no sandbox is
// built while another contestant is measured.
func preparedRuns(g *proc.Group, run func(context.Context) error, n int) turn {
	return func(ctx context.Context) ([]float64, error) {
		samples := make([]float64, 0, n)
		for len(samples) < n {
			ready := g.Spares() > 0
			start := time.Now()
			if err := run(ctx); err != nil {
				return nil, err
			}
			if ready {
				samples = append(samples, millis(time.Since(start)))
			}
			if err := awaitSpare(ctx, g); err != nil {
				return nil, err
			}
		}
		return samples, nil
	}
}

// awaitSpare waits until a sandbox is built ahead, for at most spareWait. If there is none
// then, that is no error: none is built ahead for the first two calls.
func awaitSpare(ctx context.Context, g *proc.Group) error {
	for end := time.Now().Add(spareWait); g.Spares() == 0 && time.Now().Before(end); {
		if err := ctx.Err(); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// spareWait is many times longer than building a sandbox takes.
const spareWait = 250 * time.Millisecond
