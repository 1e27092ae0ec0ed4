package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/render"
)

func newJobCommand(a *app) *cobra.Command {
	cmd := newGroupCommand("job", "Write, run and watch agents that run on schedules",
		newJobNewCommand(a), newJobListCommand(a), newJobStatusCommand(a), newJobRunCommand(a), newJobCancelCommand(a), newJobHistoryCommand(a), newJobLogsCommand(a), newJobDoctorCommand(a), newJobImportCommand(a))
	cmd.GroupID = groupAgent
	cmd.Long = `Agents are programs that run on schedules. An agent.toml describes each: when it
runs, which plugins are asked before it, which get its output, and which are
told of failures. Patchbay looks for agents in the directories of [jobs] dirs.
` + "`patchbay serve`" + ` runs them when they are due.`
	return cmd
}

// jobPoints lists the points at which plugins can take part in jobs.
var jobPoints = []hook.Point{hook.JobPreflight, hook.JobSink, hook.JobNotify}

// withJobs opens the engine and the plugins that take part in jobs. It first ends the runs whose
// process has died, because there may be no daemon that does it. Otherwise a command could show
// such a run as running, or wait for it.
func (a *app) withJobs(ctx context.Context, use func(*daemon.Jobs) error) error {
	return a.withCoreOf(ctx, daemon.Options{Host: *a.options(needPoints(jobPoints...)), NoModel: true, OnlyNamed: true},
		func(core *daemon.Core) error {
			if err := core.Jobs.ReapDeadRuns(ctx); err != nil && ctx.Err() == nil { // the command may work nevertheless
				a.logger().Warn("cannot check whether the process of a run has died", "err", err)
			}
			return use(core.Jobs)
		})
}

func newJobListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List agents: next run, last result, streak",
		Long: `List every agent with its schedules: when it runs next, how its last run ended,
and the streak. The streak counts runs with the same result in a row; it is
negative for failures.`,
		Example:     "  patchbay job list\n  patchbay job list --json | jq '.[] | select(.stale)'",
		Annotations: exits(exit{exitOK, "the list was printed"}),
		Args:        arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withJobs(cmd.Context(), func(j *daemon.Jobs) error { return a.listJobs(cmd.Context(), j) })
		},
	}
}

func (a *app) listJobs(ctx context.Context, j *daemon.Jobs) error {
	list, err := j.List(ctx)
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(list)
	}
	if len(list) == 0 {
		a.sayf("There are no agents in %s.\n", a.placesOf(j))
		a.sayf("`patchbay job new` writes one; `patchbay job import` copies those of dotagent.\n")
		return nil
	}
	rows := [][]render.Cell{render.Head("AGENT", "SCHEDULE", "NEXT", "LAST", "STREAK")}
	for _, i := range list {
		rows = append(rows, jobRow(i, time.Now()))
	}
	return render.Table(a.out, rows, a.screen())
}

// placesOf returns the directories that are searched for agents, as text.
func (a *app) placesOf(j *daemon.Jobs) string {
	var dirs []string
	for _, dir := range j.Dirs() {
		dirs = append(dirs, a.place(dir))
	}
	return strings.Join(dirs, " or ")
}

func jobRow(i daemon.JobInfo, now time.Time) []render.Cell {
	if i.Error != "" {
		return []render.Cell{{Text: i.Agent, Style: render.StyleBold}, {Text: "broken", Style: render.StyleRed}, {Text: "see patchbay job doctor"}}
	}
	next := render.Cell{Text: "by hand", Style: render.StyleDim}
	switch {
	case i.NextAttempt != nil:
		next = render.Cell{Text: "again " + until(i.NextAttempt.Sub(now)), Style: render.StyleYellow}
	case i.Running != "":
		next = render.Cell{Text: "running", Style: render.StyleCyan}
	case i.Next != nil:
		next = render.Cell{Text: until(i.Next.Sub(now))}
	}
	return []render.Cell{{Text: i.Agent, Style: render.StyleBold}, {Text: i.Schedule}, next, lastCell(i, now), {Text: streak(i.Streak)}}
}

// inWords returns a status as words: "given up".
func inWords(s job.Status) string { return strings.ReplaceAll(string(s), "_", " ") }

// streak returns the number of runs in a row with the same result.
func streak(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%+d", n)
}

func lastCell(i daemon.JobInfo, now time.Time) render.Cell {
	if i.Last == nil {
		return render.Cell{Text: "never", Style: render.StyleDim}
	}
	c := render.Cell{Text: fmt.Sprintf("%s, %s ago", inWords(i.Last.Status), span(now.Sub(i.Last.Ended)))}
	switch {
	case i.Stale:
		c.Text += ", stale"
		c.Style = render.StyleYellow
	case sinkFaults(i.Last) != "":
		c.Text += ", a sink failed"
		c.Style = render.StyleYellow
	case i.Last.Status == job.Succeeded:
		c.Style = render.StyleGreen
	case i.Last.Status == job.GivenUp:
		c.Style = render.StyleRed
	case i.Last.Status == job.Cancelled:
		c.Style = render.StyleYellow
	}
	return c
}

// until says when something happens that is a duration away: "in 5m", or "now".
func until(d time.Duration) string {
	if d < time.Second/2 {
		return "now"
	}
	return "in " + span(d)
}

// span returns a duration in a form that is easy to read.
func span(d time.Duration) string {
	if s := d.Round(time.Second); s < time.Minute {
		return s.String()
	}
	minutes := int(d.Round(time.Minute).Minutes()) // rounded to the nearest, so that "in 5m" is still right a moment later
	switch {
	case minutes < 60:
		return fmt.Sprintf("%dm", minutes)
	case minutes < 48*60:
		return fmt.Sprintf("%dh%02dm", minutes/60, minutes%60)
	}
	return fmt.Sprintf("%d days", int(math.Round(d.Hours()/24)))
}

func newJobHistoryCommand(a *app) *cobra.Command {
	page := httpapi.Page{Limit: 20}
	cmd := &cobra.Command{
		Use:   "history [AGENT]",
		Short: "List runs: first those in progress, then the others, newest first",
		Long: `List runs: first those in progress, then the others, beginning with the one that
ended last. If there are more, the last line is the command for the next page.
With --json, the field "next" has the CURSOR for --after.`,
		Example:     "  patchbay job history disk-report\n  patchbay job history -n 100 --json | jq -r .next",
		Annotations: exits(exit{exitOK, "the list was printed"}, exit{exitNotFound, "no such agent"}),
		Args:        atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withJobs(cmd.Context(), func(j *daemon.Jobs) error {
				return a.history(cmd.Context(), j, strings.Join(args, ""), page)
			})
		},
	}
	cmd.Flags().IntVarP(&page.Limit, "limit", "n", page.Limit, "show at most `N` runs")
	cmd.Flags().StringVar(&page.After, "after", "", "show the page after the one that printed this `CURSOR`")
	cmd.ValidArgsFunction = completeOnce(a.completeAgents)
	return cmd
}

func (a *app) history(ctx context.Context, j *daemon.Jobs, agent string, page httpapi.Page) error {
	if page.Limit < 1 {
		return usage("leave it out to see the last 20 runs", "--limit %d: want at least 1", page.Limit)
	}
	runs, err := j.History(ctx, agent, page)
	if is[*httpapi.InvalidRequestError](err) {
		return &problem{kind: kindUsage, err: fmt.Errorf("--after %.80q is not a cursor of `patchbay job history`", page.After),
			fix: "copy it from the previous page, or leave it out"}
	}
	if err != nil {
		return err
	}
	if _, _, err := j.Find(agent, ""); len(runs.Runs) == 0 && agent != "" && page.After == "" && err != nil {
		return noJob(err)
	}
	if a.flags.json {
		return a.printJSON(runs)
	}
	if err := a.showRuns(runs.Runs); err != nil || runs.Next == "" {
		return err
	}
	a.printf("There are more: patchbay job history %s\n", strings.TrimSpace(fmt.Sprintf("%s -n %d --after %s", agent, page.Limit, runs.Next)))
	return nil
}

func (a *app) showRuns(runs []job.Run) error {
	if len(runs) == 0 {
		a.sayf("Nothing has run yet.\n")
		return nil
	}
	rows := [][]render.Cell{render.Head("RUN", "STATUS", "ATTEMPTS", "TOOK", "ERROR")}
	for _, r := range runs {
		rows = append(rows, runRow(r))
	}
	return a.fitRuns(rows)
}

// fitRuns prints a table of runs. On a screen that is too narrow for a table, each run has a line
// with its id, which is never cut, and more lines below it.
func (a *app) fitRuns(rows [][]render.Cell) error {
	o, last := a.screen(), len(rows[0])-1
	if o.Width == 0 {
		return render.Table(a.out, rows, o)
	}
	failed := slices.ContainsFunc(rows[1:], func(row []render.Cell) bool { return row[last].Text != "" })
	if !failed {
		for i := range rows {
			rows[i] = rows[i][:last]
		}
	}
	if o.Width >= render.TableWidth(rows, minError) {
		return render.Table(a.out, rows, o)
	}
	for _, row := range rows[1:] {
		a.printf("%s\n  %s, %s", o.Paint(render.StyleBold, row[0].Text), o.Paint(row[1].Style, row[1].Text), row[2].Text)
		if row[3].Text != "" {
			a.printf(", %s", row[3].Text)
		}
		a.printf("\n")
		if failed && row[last].Text != "" {
			a.printf("%s\n", problemText(o, render.Line(row[last].Text)))
		}
	}
	return nil
}

// minError is the smallest width of the error column. In a narrower one, an error could not be
// understood.
const minError = 24

func runRow(r job.Run) []render.Cell {
	took := ""
	if !r.Ended.IsZero() {
		took = render.Duration(r.Ended.Sub(r.Began))
	}
	status := render.Cell{Text: inWords(r.Status)}
	switch r.Status {
	case job.Succeeded:
		status.Style = render.StyleGreen
	case job.GivenUp:
		status.Style = render.StyleRed
	case job.Cancelled:
		status.Style = render.StyleYellow
	case job.Running, job.Waiting:
		status.Style = render.StyleCyan
	}
	reason := cmp.Or(r.Reason, sinkFaults(&r))
	switch n := len(r.Attempts); {
	case r.Status == job.Cancelled:
		reason = cancelled(r.Reason)
	case n > 0 && r.Status != job.Succeeded:
		reason = firstAndLast(r.Attempts[n-1].Error)
	}
	return []render.Cell{{Text: r.ID, Whole: true}, status, {Text: fmt.Sprintf("%d of %d", len(r.Attempts), r.Most)}, {Text: took}, {Text: reason}}
}

// sinkFaults returns the errors of the sinks that failed although the run succeeded, or "".
func sinkFaults(r *job.Run) string {
	n := len(r.Attempts)
	if n == 0 || r.Status != job.Succeeded {
		return ""
	}
	var faults []string
	for _, fault := range r.Attempts[n-1].Sinks {
		faults = append(faults, firstAndLast(fault))
	}
	return strings.Join(faults, "; ")
}

// firstAndLast shortens a text of several lines, such as a stack trace, to the first and the last.
func firstAndLast(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) == 1 {
		return lines[0]
	}
	return lines[0] + " … " + strings.TrimSpace(lines[len(lines)-1])
}

// completeAgents completes the names of agents from their manifests.
func (a *app) completeAgents(context.Context) []cobra.Completion {
	dirs, err := a.jobDirs()
	if err != nil {
		return nil // completion does not show errors
	}
	var out []cobra.Completion
	for _, m := range job.LoadDirs(dirs).Manifests {
		out = append(out, cobra.CompletionWithDesc(m.Agent.Name, m.Agent.Description))
	}
	return out
}

// noJob returns the error for an agent that does not exist, with the name that was probably meant.
func noJob(err error) error {
	if n, ok := errors.AsType[*daemon.NoJobError](err); ok {
		return &problem{kind: kindNotFound, err: err, fix: suggestName(cmp.Or(n.Schedule, n.Agent), n.Known, "`patchbay job list` lists the agents")}
	}
	return err
}
