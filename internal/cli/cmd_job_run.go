package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// jobRunFlags holds the flags of job run.
type jobRunFlags struct {
	schedule string
	dryRun   bool
	once     bool
	attempts string // a number, "all", or "" for the default
}

// maxAttempts is the largest number of attempts that a manifest may have.
const maxAttempts = 100

// attemptLimit returns the number of attempts of a run; 0: the number of the manifest. On a
// terminal the default is one, because a user does not expect a command to wait for minutes. The
// error says how to make the other attempts.
func (f *jobRunFlags) attemptLimit(a *app) (int, error) {
	switch {
	case f.once && f.attempts != "" && f.attempts != "1":
		return 0, usage("leave one of them out", "--once and --attempts %s contradict each other", f.attempts)
	case f.once, f.attempts == "" && a.interactive():
		return 1, nil
	case f.attempts == "", f.attempts == "all":
		return 0, nil
	}
	n, err := strconv.Atoi(f.attempts)
	if err != nil || n < 1 || n > maxAttempts {
		return 0, usage(fmt.Sprintf("write a number from 1 to %d, or all", maxAttempts), "--attempts %q is not a number of attempts", f.attempts)
	}
	return n, nil
}

func newJobRunCommand(a *app) *cobra.Command {
	var f jobRunFlags
	cmd := &cobra.Command{
		Use:        "run AGENT",
		SuggestFor: []string{"start"},
		Short:      "Run an agent now, and watch it",
		Long: `Run an agent now, as on its schedule: preflights, the agent, sinks and
notifiers. Its output is shown as it comes.

On a terminal, the command makes one attempt. Without a terminal, or with
--attempts all, it repeats a failed attempt as often as the manifest allows.
--once makes one attempt, with a terminal or without. Between two attempts the
command waits as long as the manifest says; a terminal then shows a countdown,
and Enter ends it.

Ctrl-C cancels the run, as ` + "`patchbay job cancel`" + ` does. A cancelled run does not
count as a failure.

With --dry-run, the agent runs with AGENT_DRY_RUN=true. Sinks and notifiers are
not used; the command shows what they would get.`,
		Example: `  patchbay job run disk-report
  patchbay job run disk-report --attempts all
  patchbay job run disk-report --schedule daily --once
  patchbay job run disk-report --dry-run`,
		Annotations: exits(exit{exitOK, "the run succeeded"}, exit{exitFailed, "every attempt failed"},
			exit{exitRefused, "the previous run of the schedule is still in progress"}, exit{exitNotFound, "no such agent or schedule"},
			exit{exitConfig, "the manifest of the agent, or the configuration, has an error"},
			exit{exitInterrupted, "the run was cancelled, by Ctrl-C or `patchbay job cancel`"}),
		Args: arguments("AGENT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withJobs(cmd.Context(), func(j *daemon.Jobs) error { return a.runJob(cmd.Context(), j, args[0], f) })
		},
	}
	cmd.Flags().StringVar(&f.schedule, "schedule", "", "run the agent's schedule with this `ID` (default: the first)")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would be stored and sent, and do neither")
	cmd.Flags().StringVar(&f.attempts, "attempts", "", "make at most N attempts; all: as many as the manifest allows (default 1 on a terminal, else all)")
	nameValue(cmd, "attempts", "N|all")
	cmd.Flags().BoolVar(&f.once, "once", false, "make one attempt, as --attempts 1")
	mustComplete(cmd, "attempts", "1", "all")
	cmd.ValidArgsFunction = completeOnce(a.completeAgents)
	return cmd
}

func (a *app) runJob(ctx context.Context, j *daemon.Jobs, agent string, f jobRunFlags) error {
	most, err := f.attemptLimit(a)
	if err != nil {
		return err
	}
	m, s, err := j.Find(agent, f.schedule)
	if err != nil {
		return noJob(err)
	}
	if err := j.Check(ctx, m); err != nil {
		return err
	}
	j.Runner.Watch = func(_ string, l job.Line) {
		if !a.flags.json {
			_ = a.showLine(l) // a.out keeps the error
		}
	}
	if f.dryRun {
		return a.dryRun(ctx, j, m, s)
	}
	w := a.newWaiter()
	w.listen()
	run, err := j.Runner.RunNow(ctx, m, s, job.RunOptions{Attempts: most, Wait: w.wait, Began: func(job.Run) { w.over() }})
	w.over()
	switch {
	case errors.Is(err, job.ErrBusy):
		return &problem{kind: kindRefused, err: err, fix: "wait for it to end, or end it: `patchbay job cancel " + agent + "`"}
	case err != nil:
		return err
	}
	err = a.showRun(run)
	if rest := s.Retry.Attempts - run.Most; run.Status == job.GivenUp && f.attempts == "" && !f.once && rest > 0 {
		err = moreAttempts(err, agent, f.schedule, s.Retry.Attempts)
	}
	return err
}

// moreAttempts adds to a failure how to make the remaining attempts.
func moreAttempts(err error, agent, schedule string, most int) error {
	command := "patchbay job run " + agent
	if schedule != "" {
		command += " --schedule " + schedule
	}
	return &problem{kind: statedKind(err), err: err,
		fix: joinLines(fixOf(err), fmt.Sprintf("for all %d attempts: %s --attempts all", most, command))}
}

func joinLines(lines ...string) string {
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == "" }), "\n")
}

// showRun prints how a run ended.
func (a *app) showRun(r job.Run) error {
	if a.flags.json {
		if err := a.printJSON(r); err != nil {
			return err
		}
	}
	var last job.Attempt
	if n := len(r.Attempts); n > 0 {
		last = r.Attempts[n-1]
	}
	if r.Status == job.Succeeded {
		if !a.flags.json {
			a.printf("%s %s in %s (%s)\n", a.screen().Paint(render.StyleGreen, "✓"), r.Status, render.Duration(r.Ended.Sub(r.Began)), r.ID)
			for fault, fix := range last.SinkErrors() {
				a.printf("%s %s\n", a.screen().Paint(render.StyleYellow, "!"), indentRest(render.Block(fault), "  "))
				if fix != "" {
					a.printf("  fix: %s\n", render.Line(fix))
				}
			}
		}
		return nil
	}
	if r.Status == job.Cancelled {
		return &problem{kind: kindInterrupted, err: fmt.Errorf("%s: %s", r.ID, cancelled(r.Reason))}
	}
	return &problem{kind: kindFailed, err: fmt.Errorf("%s: %s after %d of %d attempts: %s", r.ID, inWords(r.Status), len(r.Attempts), r.Most, last.Error),
		fix: last.Suggest}
}

// dryRun shows what a run would do.
func (a *app) dryRun(ctx context.Context, j *daemon.Jobs, m *job.Manifest, s *job.Schedule) error {
	attempt, previews := j.DryRun(ctx, m, s)
	if a.flags.json {
		if err := a.printJSON(map[string]any{"attempt": attempt, "would_tell": append([]daemon.Preview{}, previews...)}); err != nil {
			return err
		}
	} else {
		a.showPreviews(m, attempt, previews)
	}
	if attempt.Result != job.OK {
		return &problem{kind: kindFailed, err: fmt.Errorf("the attempt would fail: %s", attempt.Error), fix: attempt.Suggest}
	}
	return nil
}

func (a *app) showPreviews(m *job.Manifest, attempt job.Attempt, previews []daemon.Preview) {
	a.sayf("\nThe attempt ended with: %s. Nothing was stored or sent. A run would have sent:\n", attempt.Result)
	switch {
	case len(previews) > 0:
	case len(m.OnSuccess)+len(m.OnFailure)+len(m.Notifiers) == 0:
		a.printf("  nothing: its manifest has no [[on_success]], [[on_failure]] or [[notifiers]]\n")
	default:
		a.printf("  nothing: none of its sinks and notifiers gets the events of this run\n")
	}
	for _, p := range previews {
		a.printf("  %s → %s\n", a.screen().Paint(render.StyleBold, string(p.Event)), strings.TrimSpace(p.To+" "+p.Plugin))
		if p.Given != nil {
			a.printf("      config %s\n      %s\n", p.Given.Config, indentRest(render.Block(strings.TrimRight(p.Given.Message, "\n")), "      "))
		}
		if p.Sent != nil {
			a.printf("      %s %s\n      %s\n", p.Sent.Method, p.Sent.Address, indentRest(render.Block(p.Sent.Body), "      "))
		}
	}
}
