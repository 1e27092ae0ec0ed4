package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/journal"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// traceFlags holds the flags that select traces of the journal.
type traceFlags struct {
	daemon.TraceQuery
	point string
	since string
}

func (t *traceFlags) add(a *app, cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&t.Session, "session", "", "only events of the session with this `ID`")
	f.StringVar(&t.Turn, "turn", "", "only events of the turn with this `ID`")
	f.StringVar(&t.point, "point", "", "only events at this `POINT`")
	f.StringVar(&t.Plugin, "plugin", "", "only events for which the plugin `NAME` was called")
	f.BoolVar(&t.Failed, "failed", false, "only events in which a plugin failed")
	f.StringVar(&t.since, "since", "", "only events since this `TIME`: 2h (ago), 2026-11-16 or 2026-11-16T13:00:00Z")
	offers := map[string]func(ctx context.Context, typed string) []cobra.Completion{
		"point":  func(ctx context.Context, _ string) []cobra.Completion { return completePoints(ctx) },
		"plugin": func(ctx context.Context, _ string) []cobra.Completion { return a.completePlugins(ctx) },
		"session": func(ctx context.Context, typed string) []cobra.Completion {
			return a.completeSessions(ctx, false, typed)
		},
	}
	for name, offer := range offers {
		err := cmd.RegisterFlagCompletionFunc(name, func(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return offer(cmd.Context(), typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		})
		if err != nil {
			panic(err) // the flag was added above
		}
	}
}

// query returns the query of the flags.
func (t *traceFlags) query() (daemon.TraceQuery, error) {
	q := t.TraceQuery
	if q.Point = hook.Point(t.point); t.point != "" {
		if _, ok := q.Point.Spec(); !ok {
			return q, noPoint(t.point)
		}
	}
	var err error
	q.Since, err = parseSince(t.since, time.Now())
	return q, err
}

// parseSince parses a duration before now, a day or a time.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at, nil
		}
	}
	return time.Time{}, usage("write a duration such as 90m or 2h, a day such as 2026-11-16, or a time such as 2026-11-16T13:00:00Z", "--since %.60q is not a time", text)
}

// withJournal opens the journal, which may be that of a running daemon. No plugin is started.
func (a *app) withJournal(ctx context.Context, use func(*journal.Journal) error) error {
	return a.withRecords(ctx, func(r *daemon.Records) error { return use(r.Journal) })
}

// wholeSession replaces the beginning of a session's id in a query by the whole id. An id that no
// session has stays as it is: the calls of an MCP client have such an id.
func wholeSession(ctx context.Context, r *daemon.Records, q *daemon.TraceQuery) error {
	if q.Session == "" {
		return nil
	}
	found, err := findSession(ctx, r.Sessions, q.Session)
	switch {
	case err == nil:
		q.Session = found.ID
	case !errors.Is(err, session.ErrNotFound):
		return err
	}
	return nil
}

// withRecords opens sessions and the journal, which a running daemon may have open. No plugin is
// started.
func (a *app) withRecords(ctx context.Context, use func(*daemon.Records) error) error {
	return a.openRecords(ctx, a.logger(), use)
}

func (a *app) openRecords(ctx context.Context, logger *slog.Logger, use func(*daemon.Records) error) error {
	if err := a.checkPlaces(); err != nil {
		return err
	}
	r, done, err := daemon.OpenRecords(ctx, daemon.Options{Host: pluginhost.Options{Logger: logger, ConfigFile: a.path(a.flags.config),
		Environ: a.Environ, Dir: a.dir()}})
	if err != nil {
		return err
	}
	defer func() {
		if err := done(); err != nil { // the result of the command is not affected
			logger.Warn("the engine did not close cleanly", "err", err)
		}
	}()
	return use(r)
}

func newTraceListCommand(a *app) *cobra.Command {
	flags, page := traceFlags{}, httpapi.Page{Limit: 20}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what plugins did to events, the newest first",
		Long: `List events that went through plugins, the newest first: those of the agent's
turns, of other agents' hooks and of MCP calls. Events are kept for a week. If
there are more, the last line is the command for the next page. With --json,
the field "next" has the CURSOR for --after. No plugin is started. The command
also works while a daemon runs.`,
		Example: `  patchbay trace list --failed --since 2h
  patchbay trace list --plugin shout --point turn.input
  patchbay trace list --session $id --json | jq -r '.traces[].id'`,
		Annotations: exits(exit{exitOK, "the list was printed"}, exit{exitNotFound, "no such point"}),
		Args:        arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := flags.query()
			if err != nil {
				return err
			}
			if page.Limit < 1 {
				return usage("leave it out to see the last 20 events", "--limit %d: want at least 1", page.Limit)
			}
			return a.withRecords(cmd.Context(), func(r *daemon.Records) error { return a.listTraces(cmd, r, q, page) })
		},
	}
	flags.add(a, cmd)
	cmd.Flags().IntVarP(&page.Limit, "limit", "n", page.Limit, "show at most `N` events")
	cmd.Flags().StringVar(&page.After, "after", "", "show the page after the one that printed this `CURSOR`")
	return cmd
}

// traceRow is a trace of a list in JSON.
type traceRow struct {
	ID         uint64       `json:"id"`
	Time       time.Time    `json:"time"`
	Session    string       `json:"session_id"`
	Turn       string       `json:"turn"`
	Point      hook.Point   `json:"point"`
	Verdict    hook.Verdict `json:"verdict"`
	By         string       `json:"by,omitempty"`
	Plugins    []string     `json:"plugins"` // that were called
	Changed    []string     `json:"changed"` // those of them that changed something
	Failed     []string     `json:"failed"`  // those of them that failed
	DurationUS int64        `json:"duration_us"`
}

func newTraceRow(t *daemon.KeptTrace) traceRow {
	r := traceRow{ID: t.ID, Time: t.Time, Session: t.Session, Turn: t.Turn, Point: t.Outcome.Point, Verdict: t.Outcome.Verdict, By: t.Outcome.By,
		Plugins: []string{}, Changed: []string{}, Failed: []string{}, DurationUS: t.Took().Microseconds()}
	for i := range t.Outcome.Steps {
		s := &t.Outcome.Steps[i]
		r.Plugins = append(r.Plugins, s.Plugin)
		if s.Changed {
			r.Changed = append(r.Changed, s.Plugin)
		}
		if s.Err != nil {
			r.Failed = append(r.Failed, s.Plugin)
		}
	}
	return r
}

// tracePage is the result of trace list in JSON.
type tracePage struct {
	Traces []traceRow `json:"traces"`
	Next   string     `json:"next,omitempty"`
}

func (a *app) listTraces(cmd *cobra.Command, r *daemon.Records, q daemon.TraceQuery, page httpapi.Page) error {
	if err := wholeSession(cmd.Context(), r, &q); err != nil {
		return err
	}
	list, err := daemon.ListTraces(cmd.Context(), r.Journal, q, page)
	if is[*httpapi.InvalidRequestError](err) {
		return usage("copy it from the previous page, or leave it out", "--after %.80q is not a cursor of `patchbay trace list`", page.After)
	}
	if err != nil {
		return err
	}
	rows := make([]traceRow, len(list.Traces))
	for i := range list.Traces {
		rows[i] = newTraceRow(&list.Traces[i])
	}
	if a.flags.json {
		return a.printJSON(tracePage{rows, list.Next})
	}
	if err := a.showTraces(rows); err != nil || list.Next == "" {
		return err
	}
	a.printf("There are more: %s\n", nextPage(cmd, list.Next))
	return nil
}

// nextPage returns the command line for the next page: the same flags, and the cursor.
func nextPage(cmd *cobra.Command, cursor string) string {
	words := []string{cmd.CommandPath()}
	for _, name := range []string{"session", "turn", "point", "plugin", "failed", "since", "limit"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			words = append(words, fmt.Sprintf("--%s=%s", name, render.Line(f.Value.String())))
		}
	}
	return strings.Join(append(words, "--after", cursor), " ")
}

// turnColumn is the smallest width of a screen on which the list shows turns.
const turnColumn = 110

func (a *app) showTraces(list []traceRow) error {
	if len(list) == 0 {
		a.sayf("No such events.\nEvents of turns, of other agents' hooks and of MCP calls are kept for a week; events of `patchbay fire` are not stored.\n")
		return nil
	}
	rows := [][]render.Cell{render.Head("ID", "TIME", "POINT", "VERDICT", "PLUGINS", "TOOK", "TURN")}
	for i := range list {
		rows = append(rows, a.traceCells(&list[i]))
	}
	if width := a.screen().Width; width > 0 && width < turnColumn { // leave out the turn, which trace show prints: shortened it would be useless
		for i := range rows {
			rows[i] = rows[i][:len(rows[i])-1]
		}
	}
	return render.Table(a.out, rows, a.screen())
}

func (a *app) traceCells(r *traceRow) []render.Cell {
	names := make([]string, len(r.Plugins))
	for i, name := range r.Plugins {
		names[i] = render.Cut(render.Line(name), 32)
	}
	what := render.Cell{Text: string(r.Verdict)}
	switch {
	case len(r.Failed) > 0:
		what = render.Cell{Text: string(r.Verdict) + ", failed: " + strings.Join(r.Failed, ", "), Style: render.StyleRed}
	case len(r.Changed) > 0 && r.Verdict == hook.Continue:
		what = render.Cell{Text: "changed by " + strings.Join(r.Changed, ", "), Style: render.StyleGreen}
	case r.By != "":
		what = render.Cell{Text: string(r.Verdict) + " by " + r.By, Style: render.StyleYellow}
	}
	return []render.Cell{{Text: fmt.Sprint(r.ID), Style: render.StyleBold, Whole: true}, {Text: r.Time.Local().Format(time.DateTime)}, {Text: string(r.Point), Style: render.StyleCyan},
		what, {Text: strings.Join(names, ", ")}, {Text: render.Duration(time.Duration(r.DurationUS) * time.Microsecond), Right: true},
		{Text: r.Turn, Style: render.StyleDim}}
}
