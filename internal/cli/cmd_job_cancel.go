package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/render"
)

func newJobCancelCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:        "cancel RUN",
		SuggestFor: []string{"stop", "kill"},
		Short:      "Cancel a run, on whichever machine it runs",
		Long: `Cancel a run, whichever process runs it: a daemon, a ` + "`patchbay job run`" + `, or a
process of another machine that shares the engine. Its program gets SIGTERM, and
SIGKILL five seconds later. If the run waits for its next attempt, that attempt
is not made. The run is recorded as cancelled: it does not count as a failure,
no notification is sent, and it is not tried again.

RUN is an id from ` + "`patchbay job history`" + `, or the name of an agent, which means
its current run.`,
		Example: `  patchbay job cancel disk-report
  patchbay job cancel disk-report/daily/20261115T060000.000Z`,
		Annotations: exits(exit{exitOK, "the run has ended"}, exit{exitFailed, "the run was asked to end, but still runs"},
			exit{exitRefused, "the run was over already"}, exit{exitNotFound, "there is no such run, or the agent is not running"}),
		Args: arguments("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withJobs(cmd.Context(), func(j *daemon.Jobs) error { return a.cancelJob(cmd.Context(), j, args[0]) })
		},
	}
	cmd.ValidArgsFunction = completeOnce(a.completeRuns)
	return cmd
}

func (a *app) cancelJob(ctx context.Context, j *daemon.Jobs, id string) error {
	id, err := runToCancel(ctx, j, id)
	if err != nil {
		return err
	}
	run, err := j.Runner.Cancel(ctx, id)
	switch {
	case errors.Is(err, job.ErrNoRun):
		return &problem{kind: kindNotFound, err: err, fix: "`patchbay job history` lists the runs"}
	case errors.Is(err, job.ErrOver):
		return &problem{kind: kindRefused, err: err}
	case errors.Is(err, job.ErrStillRuns):
		return &problem{kind: kindFailed, err: err, fix: "`patchbay job history` names the process that makes the run; the run ends as cancelled when that process answers again, or is known to be dead"}
	case err != nil:
		return err
	case a.flags.json:
		return a.printJSON(run)
	}
	a.printf("%s %s (%s)\n", a.screen().Paint(render.StyleYellow, "■"), run.Status, run.ID)
	return nil
}

// runToCancel returns the id of the run to cancel: id itself, or the current run of the agent with
// that name.
func runToCancel(ctx context.Context, j *daemon.Jobs, id string) (string, error) {
	if strings.Contains(id, "/") {
		return id, nil
	}
	runs, err := activeRuns(ctx, j, id)
	if err != nil {
		return "", err
	}
	switch len(runs) {
	case 1:
		return runs[0], nil
	case 0:
		if _, _, err := j.Find(id, ""); err != nil {
			return "", noJob(err)
		}
		return "", &problem{kind: kindNotFound, err: fmt.Errorf("agent %s is not running", id), fix: "`patchbay job list` shows the agents that run"}
	}
	return "", usage("name the run to cancel", "agent %s has several runs in progress: %s", id, strings.Join(runs, ", "))
}

// activeRuns returns the ids of the runs in progress, of one agent or, if agent is "", of all.
func activeRuns(ctx context.Context, j *daemon.Jobs, agent string) ([]string, error) {
	states, err := j.Store.States(ctx)
	var ids []string
	for _, st := range states {
		if st.Active != "" && (agent == "" || st.Agent == agent) {
			ids = append(ids, st.Active)
		}
	}
	slices.Sort(ids)
	return ids, err
}

// completeRuns completes the runs in progress. It starts no plugin.
func (a *app) completeRuns(ctx context.Context) []cobra.Completion {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	o := daemon.Options{Host: *a.options(func(pluginhost.Candidate) bool { return false }), NoModel: true}
	o.Host.Logger = slog.New(slog.DiscardHandler)
	var out []cobra.Completion
	_ = a.withCoreOf(ctx, o, func(core *daemon.Core) error { // completion does not show errors
		ids, err := activeRuns(ctx, core.Jobs, "")
		out = append(out, ids...)
		return err
	})
	return out
}
