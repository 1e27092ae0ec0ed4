package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// jobRunFlags are the flags of job run.
type jobRunFlags struct {
	schedule string
	dryRun   bool
	once     bool
}

func newJobRunCommand(a *app) *cobra.Command {
	var f jobRunFlags
	cmd := &cobra.Command{
		Use:   "run AGENT",
		Short: "Run an agent now, and watch it",
		Long: `Run an agent now, with all its attempts: preflights, the agent, sinks and notifiers, as
on its schedule. What it prints is shown as it comes. After a failed attempt it waits as the
manifest says, and shows how long; with --once there is one attempt and no waiting, and a failure
counts as given up at once. Ctrl-C ends the run, as does ` + "`patchbay job cancel`" + ` from
elsewhere: it is recorded as cancelled, which is no failure.

With --dry-run the agent runs with AGENT_DRY_RUN=true, sinks and notifiers are not used,
and what they would have been given is shown.`,
		Example: `  patchbay job run disk-report
  patchbay job run disk-report --schedule daily --once
  patchbay job run disk-report --dry-run`,
		Annotations: exits(exit{exitOK, "it succeeded"}, exit{exitFailed, "every attempt failed"},
			exit{exitRefused, "the last run of the schedule is not over"}, exit{exitNotFound, "no such agent or schedule"},
			exit{exitInterrupted, "the run was cancelled, by Ctrl-C or `patchbay job cancel`"}),
		Args: arguments("AGENT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withJobs(cmd.Context(), func(j *daemon.Jobs) error { return a.runJob(cmd.Context(), j, args[0], f) })
		},
	}
	cmd.Flags().StringVar(&f.schedule, "schedule", "", "run it as this one of its schedules (`ID`); the first where it is left out")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would be stored and told, and do neither")
	cmd.Flags().BoolVar(&f.once, "once", false, "make a single attempt, and do not wait for another")
	cmd.ValidArgsFunction = completeOnce(a.completeAgents)
	return cmd
}

func (a *app) runJob(ctx context.Context, j *daemon.Jobs, agent string, f jobRunFlags) error {
	m, s, err := j.Find(agent, f.schedule)
	if err != nil {
		return noJob(err)
	}
	if !a.flags.json {
		j.Runner.Watch = func(_ string, l job.Line) { _ = a.showLine(l) } // the output keeps its error
	}
	if f.dryRun {
		return a.dryRun(ctx, j, m, s)
	}
	run, err := j.Runner.RunNow(ctx, m, s, job.RunOptions{Once: f.once, Wait: a.waits})
	switch {
	case errors.Is(err, job.ErrBusy):
		return &problem{kind: kindRefused, err: err, fix: "wait for it to end, or end it: `patchbay job cancel " + agent + "`"}
	case err != nil:
		return err
	}
	return a.showRun(run)
}

// waits tells that a run waits for its next attempt.
func (a *app) waits(r job.Run) {
	if !a.flags.json {
		last := r.Attempts[len(r.Attempts)-1]
		a.printf("%s attempt %d of %d: %s; the next one is in %s (Ctrl-C ends the run; --once makes one attempt)\n", a.screen().Paint(render.StyleYellow, "!"), last.Number, r.Most,
			render.Line(last.Error), span(time.Until(r.NextAt)))
	}
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
			for fault, fix := range last.Sunk() {
				a.printf("%s %s\n", a.screen().Paint(render.StyleYellow, "!"), render.Line(fault))
				if fix != "" {
					a.printf("  fix: %s\n", render.Line(fix))
				}
			}
		}
		return nil
	}
	if r.Status == job.Cancelled {
		return &problem{kind: kindInterrupted, err: fmt.Errorf("%s: %s: %s", r.ID, r.Status, r.Reason)}
	}
	return &problem{kind: kindFailed, err: fmt.Errorf("%s: %s after %d of %d attempts: %s", r.ID, r.Status, len(r.Attempts), r.Most, last.Error),
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
		a.showPreviews(attempt, previews)
	}
	if attempt.Result != job.OK {
		return &problem{kind: kindFailed, err: fmt.Errorf("the attempt would fail: %s", attempt.Error), fix: attempt.Suggest}
	}
	return nil
}

func (a *app) showPreviews(attempt job.Attempt, previews []daemon.Preview) {
	a.printf("\nThe attempt came to: %s. Nothing was stored or told. A run would have told:\n", attempt.Result)
	if len(previews) == 0 {
		a.printf("  nobody\n")
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
