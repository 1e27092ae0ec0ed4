package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/render"
)

func newJobStatusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show all agents on one screen: what runs, what is next, what fails",
		Long: `Show all agents on one screen: whether a daemon runs them, which run now, which
is next, how the last run of each ended, and the streak. The streak counts runs
with the same result in a row; it is negative for failures. Agents that need
your attention come first. On a terminal the list is cut to the height of the
screen, and says how many agents were left out; ` + "`patchbay job list`" + ` has all of
them.`,
		Example:     "  patchbay job status\n  watch patchbay job status\n  patchbay job status --json | jq .daemon",
		Annotations: exits(exit{exitOK, "the overview was printed"}),
		Args:        arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withJobs(cmd.Context(), func(j *daemon.Jobs) error { return a.jobStatus(cmd.Context(), j) })
		},
	}
}

// A jobOverview is the result of job status in JSON.
type jobOverview struct {
	Daemon *httpapi.DaemonStatus `json:"daemon"` // null: no daemon is running
	Agents []daemon.JobInfo      `json:"agents"`
}

func (a *app) jobStatus(ctx context.Context, j *daemon.Jobs) error {
	list, err := j.List(ctx)
	if err != nil {
		return err
	}
	o := jobOverview{Agents: list}
	if o.Daemon, err = a.daemonStatus(ctx); err != nil {
		return err
	}
	now := time.Now()
	slices.SortStableFunc(o.Agents, func(x, y daemon.JobInfo) int {
		return cmp.Or(cmp.Compare(urgency(x), urgency(y)), soonest(x).Compare(soonest(y)), cmp.Compare(x.Agent, y.Agent))
	})
	if a.flags.json {
		return a.printJSON(o)
	}
	if len(list) == 0 {
		a.sayf("There are no agents in %s. `patchbay job new` writes one.\n", a.placesOf(j))
		return nil
	}
	a.printf("%s\n\n", a.jobSummary(o, now))
	return a.jobScreen(o.Agents, now)
}

// daemonStatus returns the state of the running daemon, or nil if none runs.
func (a *app) daemonStatus(ctx context.Context) (*httpapi.DaemonStatus, error) {
	dirs, err := config.Locate(a.getenv, runtime.GOOS)
	if err != nil {
		return nil, err
	}
	s, err := daemon.Status(ctx, dirs)
	if errors.Is(err, daemon.ErrNoDaemon) {
		return nil, nil
	}
	return &s, err
}

// urgency orders agents: broken, failing, stale, with a sink that failed, running, scheduled, and
// those without a schedule.
func urgency(i daemon.JobInfo) int {
	switch {
	case i.Error != "":
		return 0
	case i.Streak < 0:
		return 1
	case i.Stale:
		return 2
	case i.Last != nil && sinkFaults(i.Last) != "":
		return 3
	case i.Running != "":
		return 4
	case i.Next != nil:
		return 5
	}
	return 6
}

// soonest returns when an agent runs next.
func soonest(i daemon.JobInfo) time.Time {
	switch {
	case i.NextAttempt != nil:
		return *i.NextAttempt
	case i.Next != nil:
		return *i.Next
	}
	return time.Time{}
}

// jobSummary returns the overview in one or two lines.
func (a *app) jobSummary(o jobOverview, now time.Time) string {
	counts := map[string]int{}
	agents := map[string]bool{}
	for _, i := range o.Agents {
		agents[i.Path] = true
		counts[[]string{"broken", "failing", "stale", "with a failed sink", "", "", ""}[urgency(i)]]++
		if i.Running != "" {
			counts["in progress"]++
		}
	}
	parts := []string{render.Count(len(agents), "agent")}
	for _, word := range []string{"in progress", "failing", "stale", "with a failed sink", "broken"} {
		if n := counts[word]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, word))
		}
	}
	line := a.screen().Paint(render.StyleBold, strings.Join(parts, ", "))
	switch d := o.Daemon; {
	case d == nil, d.Hooks:
		return line + "\n" + a.screen().Paint(render.StyleYellow, "No daemon runs them. `patchbay serve` runs them; with --install, at every login.")
	case d.Next != nil:
		return line + fmt.Sprintf("; next: %s %s (daemon %d)", d.Next.Agent, until(d.Next.At.Sub(now)), d.PID)
	case slices.ContainsFunc(o.Agents, func(i daemon.JobInfo) bool { return i.Next != nil }):
		return line + fmt.Sprintf("; daemon %d has not scheduled them yet", d.PID)
	default:
		return line + fmt.Sprintf("; none is scheduled (daemon %d)", d.PID)
	}
}

// screenRest is the number of lines that the overview needs in addition to its rows: the summary,
// the heading, the note and the prompt.
const screenRest = 7

// jobScreen prints a row for each schedule, as many as fit on the screen.
func (a *app) jobScreen(list []daemon.JobInfo, now time.Time) error {
	shown := list
	if room := a.Height - screenRest; a.OutTTY && room > 0 && len(list) > room {
		shown = list[:room]
	}
	rows := [][]render.Cell{render.Head("AGENT", "SCHEDULE", "NEXT", "LAST", "STREAK")}
	for _, i := range shown {
		rows = append(rows, jobRow(i, now))
	}
	if err := render.Table(a.out, rows, a.screen()); err != nil {
		return err
	}
	if left := len(list) - len(shown); left > 0 {
		a.printf("… and %d more: patchbay job list\n", left)
	}
	return nil
}
