package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// Names of the series of the section that compares the sandbox with bubblewrap.
const (
	nameOrdinary      = "plain process per call, ordinary user"
	nameOrdinaryBoxed = "in its sandbox, ordinary user, no helper"
	nameBwrap         = "in bwrap --unshare-all"
)

// measureBwrap compares what a sandbox adds to a process with what bubblewrap adds. The section runs as an ordinary user,
// from a directory in which there is no patchbay-jail.
func measureBwrap(ctx context.Context, e effort) ([]Series, error) {
	names := []string{nameOrdinary, nameOrdinaryBoxed, nameBwrap}
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
	boxed.Box = sandbox.New(sandbox.Options{})
	wrapped.Path = bwrap
	wrapped.Args = []string{"--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", cat}
	if err := runOnce(group.Run, wrapped, payload)(ctx); err != nil {
		return skipAll(fmt.Sprintf("bwrap does not run here: %v", err), names...), nil
	}
	const batch = 5
	return roundRobin(ctx, e.of(40), []entrant{
		{nameOrdinary, timedRuns(runOnce(group.Run, plain, payload), batch, 0)},
		{nameOrdinaryBoxed, timedRuns(runOnce(group.Run, boxed, payload), batch, 0)},
		{nameBwrap, timedRuns(runOnce(group.Run, wrapped, payload), batch, 0)},
	})
}
