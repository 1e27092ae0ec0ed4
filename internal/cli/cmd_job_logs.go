package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// jobLogsFlags holds the flags of job logs.
type jobLogsFlags struct {
	follow bool
	raw    bool
}

func newJobLogsCommand(a *app) *cobra.Command {
	var f jobLogsFlags
	cmd := &cobra.Command{
		Use:   "logs RUN",
		Short: "Show what a run has printed",
		Long: `Show the output of a run. Each line begins with the time, the attempt (#1) and
the stream: stdout, stderr, or note for a remark of Patchbay. The last line says
how the run ended. --raw prints only the output.

RUN is an id from ` + "`patchbay job history`" + `, or the name of an agent, which means
its last run.`,
		Example: `  patchbay job logs disk-report
  patchbay job logs -f disk-report/daily/20261115T060000.000Z
  patchbay job logs disk-report --raw | wc -l`,
		Annotations: exits(exit{exitOK, "the output was printed, or Ctrl-C ended -f"}, exit{exitNotFound, "there is no such run"}),
		Args:        arguments("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withJobs(cmd.Context(), func(j *daemon.Jobs) error { return a.showLogs(cmd.Context(), j, args[0], f) })
		},
	}
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "keep printing until the run ends")
	cmd.Flags().BoolVar(&f.raw, "raw", false, "print only the lines of the program")
	cmd.ValidArgsFunction = completeOnce(a.completeAgents)
	return cmd
}

func (a *app) showLogs(ctx context.Context, j *daemon.Jobs, id string, f jobLogsFlags) error {
	id, err := runToShow(ctx, j, id)
	if err != nil {
		return err
	}
	lines, read := 0, j.Store.Output
	if f.follow {
		defer a.keepEndingDeadRuns(ctx, j)()
		read = j.Store.Follow
		if a.ErrTTY && !a.flags.json {
			a.tellf("Following %s until it ends; Ctrl-C stops following, not the run.\n", render.Line(id))
		}
	}
	err = read(ctx, id, func(l job.Line) error {
		if f.raw && !a.flags.json && l.Stream == "note" {
			return nil // a remark of Patchbay
		}
		lines++
		return a.logLine(l, f.raw)
	})
	if f.follow && ctx.Err() != nil {
		return nil // Ctrl-C is the normal way to stop following
	}
	if err != nil {
		return err
	}
	run, err := j.Store.Run(ctx, id) // it may have ended by now
	if err != nil {
		return err
	}
	return a.endLogs(&run, lines, f)
}

// runToShow returns the id of a run: id itself, or the last run of the agent with that name.
func runToShow(ctx context.Context, j *daemon.Jobs, id string) (string, error) {
	if !strings.Contains(id, "/") {
		runs, err := j.Store.Runs(ctx, id, 1)
		if err != nil {
			return "", err
		}
		if len(runs) == 0 {
			if _, _, err := j.Find(id, ""); err != nil {
				return "", noJob(err)
			}
			return "", &problem{kind: kindNotFound, err: fmt.Errorf("agent %s has not run", id), fix: "`patchbay job run " + id + "` runs it"}
		}
		return runs[0].ID, nil
	}
	if _, err := j.Store.Run(ctx, id); err != nil {
		return "", &problem{kind: kindNotFound, err: err, fix: "`patchbay job history` lists the runs"}
	}
	return id, nil
}

// logLine prints a line of output with its time, attempt and stream.
func (a *app) logLine(l job.Line, raw bool) error {
	switch {
	case a.flags.json:
		return a.printJSON(l)
	case raw:
		_, err := a.out.Write([]byte(a.fit(l.Text) + "\n"))
		return err
	}
	o := a.screen()
	style := map[job.Stream]render.Style{"stderr": render.StyleYellow, "note": render.StyleDim}[l.Stream]
	head := fmt.Sprintf("%s #%d %-6s", l.Time.Local().Format(time.DateTime), l.Attempt, l.Stream)
	a.printf("%s\n", render.Wrap(o.Paint(render.StyleDim, head)+"  "+o.Paint(style, l.Text), o.Width, "  "))
	return nil
}

// fit makes foreign text safe for a terminal. Programs get it unchanged.
func (a *app) fit(text string) string {
	if a.OutTTY {
		return render.Line(text)
	}
	return text
}

// endLogs prints how the run ended. If the run has printed nothing, it says so and why, in JSON
// too.
func (a *app) endLogs(run *job.Run, lines int, f jobLogsFlags) error {
	text := run.ID + " " + stateInWords(run, f.follow)
	if lines == 0 {
		text = run.ID + " " + whyNoOutput(run, time.Now()) + "; it " + stateInWords(run, f.follow)
	}
	switch {
	case a.flags.json && lines == 0:
		return a.printJSON(job.Line{Attempt: len(run.Attempts), Time: time.Now().UTC(), Stream: "note", Text: text})
	case a.flags.json, f.raw && lines > 0:
	case f.raw:
		a.tellf("%s\n", render.Line(text))
	default:
		a.remark(text)
	}
	return nil
}

// remark prints a remark of Patchbay among the lines of a run.
func (a *app) remark(text string) {
	o := a.screen()
	a.printf("%s\n", render.Wrap(o.Paint(render.StyleDim, "· "+text), o.Width, "  "))
}

// whyNoOutput returns why a run has no output.
func whyNoOutput(run *job.Run, now time.Time) string {
	switch {
	case len(run.Attempts) == 0:
		return "did not start"
	case !run.Status.Over():
		return "has printed nothing yet"
	case now.Sub(run.Ended) > job.OutputKept:
		return fmt.Sprintf("has no output any more: output is deleted after %d days", int(job.OutputKept.Hours()/24))
	}
	return "printed nothing"
}

// stateInWords returns the state of a run in words.
func stateInWords(run *job.Run, followed bool) string {
	attempts := render.Count(len(run.Attempts), "attempt")
	switch run.Status {
	case job.Succeeded:
		text := fmt.Sprintf("succeeded after %s, in %s", attempts, render.Duration(run.Ended.Sub(run.Began)))
		if faults := sinkFaults(run); faults != "" {
			text += "; " + faults
		}
		return text
	case job.GivenUp:
		reason := run.Reason
		if n := len(run.Attempts); n > 0 && reason == "" {
			reason = run.Attempts[n-1].Error
		}
		return fmt.Sprintf("gave up after %s: %s", attempts, reason)
	case job.Cancelled:
		return "was " + cancelled(run.Reason)
	case job.Skipped:
		return "was skipped: " + run.Reason
	case job.Waiting:
		return waitInWords(run)
	}
	if followed {
		return "is still running"
	}
	return "is still running (-f follows it)"
}

// cancelled says why a run was cancelled. Some reasons begin with that word, others are causes that
// package os/signal gives to contexts.
func cancelled(reason string) string {
	switch {
	case strings.HasPrefix(reason, string(job.Cancelled)):
		return reason
	case strings.HasPrefix(reason, "interrupt signal"):
		return "cancelled by Ctrl-C"
	case strings.HasPrefix(reason, "terminated signal"):
		return "cancelled by SIGTERM"
	}
	return "cancelled: " + reason
}

// waitInWords returns what a run waits for, and why.
func waitInWords(run *job.Run) string {
	text := fmt.Sprintf("waits until %s for attempt %d of %d", run.NextAt.Local().Format(time.DateTime), len(run.Attempts)+1, run.Most)
	if n := len(run.Attempts); n > 0 && run.Attempts[n-1].Error != "" {
		text += fmt.Sprintf("; attempt %d %s: %s", n, ended(run.Attempts[n-1].Result), firstAndLast(run.Attempts[n-1].Error))
	}
	return text
}

// ended says how an attempt of a run that waits for the next one ended.
func ended(r job.Result) string {
	if r == job.Stopped {
		return "was stopped"
	}
	return "failed"
}

// deadRunsEvery is how often a command that waits for a run checks whether the run's process has
// died.
const deadRunsEvery = time.Second

// keepEndingDeadRuns ends runs whose process has died, until stop is called. There may be no daemon
// that does it, and following such a run would never end.
func (a *app) keepEndingDeadRuns(ctx context.Context, j *daemon.Jobs) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(deadRunsEvery):
			}
			if err := j.ReapDeadRuns(ctx); err != nil && ctx.Err() == nil {
				a.logger().Warn("cannot check whether the process of a run has died", "err", err)
			}
		}
	}()
	return func() { cancel(); <-done }
}

// showLine prints a line of output, as JSON or as text.
func (a *app) showLine(l job.Line) error {
	if a.flags.json {
		return a.printJSON(l)
	}
	text := l.Text
	if a.OutTTY {
		text = render.Line(text)
	}
	switch l.Stream {
	case "stderr":
		a.printf("%s\n", a.screen().Paint(render.StyleYellow, text))
	case "note":
		a.remark(text)
	default:
		a.printf("%s\n", text)
	}
	return nil
}
