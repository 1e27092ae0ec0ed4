package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/pause"
	"github.com/patchbay-dev/patchbay/internal/render"
)

func newServeStatusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the running daemon: process, address, plugins, agents, next run",
		Long: `Show the daemon that uses your directories (see ` + "`patchbay config path`" + `): its
process, how long it has run, its address, the number of its plugins and agents,
and the next run.`,
		Example:     "  patchbay serve status\n  patchbay serve status --json | jq .pid",
		Annotations: exits(exit{exitOK, "a daemon is running"}, exit{exitNotFound, "no daemon is running"}),
		Args:        arguments(),
		RunE:        func(cmd *cobra.Command, _ []string) error { return a.serveStatus(cmd.Context()) },
	}
}

func (a *app) serveStatus(ctx context.Context) error {
	s, err := a.daemonStatus(ctx)
	if err != nil {
		return err
	}
	if s == nil {
		return &problem{kind: kindNotFound, err: errors.New("no daemon is running"), fix: "`patchbay serve` starts one; `patchbay serve --install` starts one at every login"}
	}
	if a.flags.json {
		return a.printJSON(s)
	}
	now := time.Now()
	a.printf("%s %s is running, process %d, for %s (since %s)\n", a.screen().Paint(render.StyleBold, "patchbay"), render.Line(s.Version), s.PID,
		span(now.Sub(s.Began)), s.Began.Local().Format(time.DateTime))
	a.statusRows(s, now)
	return nil
}

// statusRows prints the state of a daemon, one row for each value. Serve prints them when it
// starts, and serve status on request.
func (a *app) statusRows(s *httpapi.DaemonStatus, now time.Time) {
	row := func(name, format string, args ...any) {
		line := fmt.Sprintf("  %-8s %s", name, render.Line(fmt.Sprintf(format, args...)))
		a.printf("%s\n", render.Wrap(line, a.screen().Width, "         "))
	}
	if s.HTTP != "" {
		row("address", "%s", s.HTTP)
	}
	row("socket", "%s", a.place(s.Socket))
	if s.Hooks {
		row("started", "by a hook of another agent; it runs no agents, and gives its place to `patchbay serve`")
	}
	row("model", "%s", s.Model)
	row("plugins", "%d ready of %d (patchbay plugin list)", s.Plugins.Ready, s.Plugins.All)
	if !s.Hooks {
		row("agents", "%s (patchbay job status)", agentCount(s.Agents))
		row("next run", "%s", nextRun(s.Next, now))
	}
	if s.Log != "" {
		row("log", "%s (patchbay serve logs)", a.place(s.Log))
	}
}

func agentCount(n httpapi.DaemonAgents) string {
	text := fmt.Sprint(n.All)
	if n.Running > 0 {
		text += fmt.Sprintf(", %d in progress", n.Running)
	}
	if n.Broken > 0 {
		text += fmt.Sprintf(", %d broken", n.Broken)
	}
	return text
}

func nextRun(n *httpapi.DaemonNextRun, now time.Time) string {
	if n == nil {
		return "none: no agent has a schedule"
	}
	return fmt.Sprintf("%s (%s) %s, at %s", n.Agent, n.Schedule, until(n.At.Sub(now)), n.At.Local().Format(time.DateTime))
}

func newServeStopCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "stop",
		Short: "End the daemon, and wait until it is gone",
		Long: `End the daemon that uses your directories (see ` + "`patchbay config path`" + `), and wait
until it is gone. Running turns get ten seconds. Runs of scheduled agents are
stopped, and the next daemon makes their next attempts. A service
(` + "`patchbay serve --install`" + `) starts the daemon again at the next login.`,
		Example:     "  patchbay serve stop",
		Annotations: exits(exit{exitOK, "the daemon has ended, or none was running"}, exit{exitFailed, "the daemon did not end"}),
		Args:        arguments(),
		RunE:        func(cmd *cobra.Command, _ []string) error { return a.serveStop(cmd.Context()) },
	}
}

// stopWithin is longer than a daemon may take to end: see endWithin.
const stopWithin = endWithin + 5*time.Second

func (a *app) serveStop(ctx context.Context) error {
	s, err := a.daemonStatus(ctx)
	if err != nil {
		return err
	}
	if s == nil {
		if a.flags.json {
			return a.printJSON(map[string]any{"pid": nil, "stopped": false})
		}
		a.sayf("No daemon is running.\n")
		return nil
	}
	began := time.Now()
	if err := a.endProcess(ctx, s.PID); err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(map[string]any{"pid": s.PID, "stopped": true})
	}
	a.sayf("The daemon (process %d) has ended, after %s.\n", s.PID, render.Duration(time.Since(began)))
	return nil
}

// endProcess sends SIGTERM to a process, and waits until it has ended.
func (a *app) endProcess(ctx context.Context, pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	defer func() { _ = p.Release() }() // fails only if it was released before
	if err := p.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return &problem{kind: kindFailed, err: fmt.Errorf("cannot send a signal to the daemon (process %d): %w", pid, err), fix: "end it where it was started"}
	}
	if a.ErrTTY && !a.flags.json {
		a.tellf("Waiting for process %d to end …\n", pid)
	}
	wait, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	for !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone) {
		if pause.For(wait, 20*time.Millisecond) == nil {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &problem{kind: kindFailed, err: fmt.Errorf("the daemon (process %d) has not ended within %s", pid, stopWithin),
			fix: fmt.Sprintf("`patchbay serve logs` may say why; `kill -9 %d` ends it, and the next daemon cleans up", pid)}
	}
	return nil
}
