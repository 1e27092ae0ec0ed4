package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/internal/session"
)

type sessionListOptions struct {
	here  bool
	host  string
	limit int
}

func newSessionListCommand(a *app) *cobra.Command {
	opts := sessionListOptions{limit: 20}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List conversations, the newest first",
		Long: `List conversations, the newest first: those of ` + "`patchbay chat`" + `, those over HTTP,
and those of other agents with hooks for Patchbay. The column FROM has chat,
http, or the name of the agent, such as claude. The title is the first line of
the first message, as plugins left it.

The column ID has the beginning of the session's id, without ses_. It is enough
for every command that takes an id; --json has the whole id. With --dir DIR,
only the sessions of that directory are listed. No plugin is started. The
command also works while a daemon runs.`,
		Example: `  patchbay session list
  patchbay session list --here
  patchbay session list --host claude --dir ~/shop
  patchbay session list --limit 500 --json | jq -r '.[].id'`,
		Annotations: exits(exit{exitOK, "the list was printed"}),
		Args:        arguments(),
		RunE:        func(cmd *cobra.Command, _ []string) error { return a.runSessionList(cmd.Context(), opts) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&opts.here, "here", false, "list only sessions of the current directory")
	f.StringVar(&opts.host, "host", "", "list only sessions from this `HOST`: chat, http, or another agent such as claude")
	f.IntVarP(&opts.limit, "limit", "n", opts.limit, "show at most `N` sessions")
	mustComplete(cmd, "host", sessionHosts()...)
	return cmd
}

// sessionHosts returns the possible values of --host.
func sessionHosts() []string {
	hosts := []string{session.FromChat, session.FromHTTP}
	for _, agent := range codehook.Agents() {
		hosts = append(hosts, string(agent))
	}
	return hosts
}

func (a *app) runSessionList(ctx context.Context, opts sessionListOptions) error {
	if opts.limit < 1 {
		return usage("leave it out to see the last 20 sessions", "--limit %d: want at least 1", opts.limit)
	}
	q := session.Query{Host: opts.host, Limit: opts.limit}
	if err := checkHost(opts.host); err != nil {
		return err
	}
	if opts.here || a.flags.dir != "" {
		dir, err := a.workingDir()
		if err != nil {
			return err
		}
		q.WorkingDir = dir
	}
	return a.withRecords(ctx, func(r *daemon.Records) error {
		found, more, err := r.Sessions.Search(ctx, q)
		if err != nil {
			return err
		}
		if a.flags.json {
			return a.printJSON(append([]session.Summary{}, found...))
		}
		return a.showSessions(found, more, q)
	})
}

// checkHost refuses a value of --host that no session can have.
func checkHost(host string) error {
	hosts := sessionHosts()
	for _, known := range hosts {
		if host == "" || host == known {
			return nil
		}
	}
	return usage(suggestName(host, hosts, "write one of "+strings.Join(hosts, ", ")), "unknown --host %.60q", host)
}

func (a *app) showSessions(list []session.Summary, more bool, q session.Query) error {
	if len(list) == 0 {
		a.sayf("%s\n", a.noSessions(q))
		return nil
	}
	head := render.Head("ID", "BEGAN", "FROM", "TURNS", "TITLE", "DIRECTORY")
	rows := [][]render.Cell{head}
	ids, now, home := shortIDs(list), time.Now(), a.getenv("HOME")
	for i := range list {
		rows = append(rows, sessionCells(&list[i], ids[i], home, now))
	}
	if q.WorkingDir != "" { // all sessions have the same directory
		for i := range rows {
			rows[i] = rows[i][:len(rows[i])-1]
		}
	}
	a.fitDirectories(rows)
	if err := render.Table(a.out, rows, a.screen()); err != nil {
		return err
	}
	if more {
		a.printf("%s\n", a.screen().Paint(render.StyleDim, fmt.Sprintf("There are more: --limit %d shows them.", 2*q.Limit)))
	}
	return nil
}

// noSessions says which sessions were not found, and how such a session begins.
func (a *app) noSessions(q session.Query) string {
	text := "No session"
	if q.Host != "" {
		text += " from " + q.Host
	}
	if q.WorkingDir != "" {
		text += " in " + a.place(q.WorkingDir)
	}
	switch q.Host {
	case "", session.FromChat:
		return text + " yet. `patchbay chat` begins one."
	case session.FromHTTP:
		return text + " yet. POST /session to `patchbay serve` begins one."
	}
	return fmt.Sprintf("%s yet. A session in %s is listed if its hooks were installed before: `patchbay hook install %s`.", text, q.Host, q.Host)
}

func sessionCells(s *session.Summary, id, home string, now time.Time) []render.Cell {
	title := render.Cell{Text: s.Title}
	if s.Title == "" {
		title = render.Cell{Text: sessionTitle(s.Session), Style: render.StyleDim}
	}
	host := s.Host
	if host == "" {
		host = "-"
	}
	return []render.Cell{{Text: id, Style: render.StyleBold, Whole: true}, {Text: shortTime(s.CreatedAt, now)}, {Text: host, Style: render.StyleCyan},
		{Text: strconv.Itoa(s.Turns), Right: true}, title, {Text: fromHome(s.WorkingDir, home), Style: render.StyleDim}}
}

// shortTime returns a time to the minute, or only the date if it is in another year.
func shortTime(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.Year() != now.Year() {
		return t.Format("2006-01-02")
	}
	return t.Format("Jan _2 15:04")
}

// place returns a path for people, safe to print. Errors, JSON and findings have whole paths, which
// other programs can open.
func (a *app) place(path string) string { return render.Line(fromHome(path, a.getenv("HOME"))) }

// fromHome returns a path with ~ for the home directory, also if home is a link to it.
func fromHome(path, home string) string {
	if home == "" {
		return path
	}
	if short, ok := below(path, filepath.Clean(home)); ok {
		return short
	}
	if resolved, err := filepath.EvalSymlinks(home); err == nil {
		if short, ok := below(path, resolved); ok {
			return short
		}
	}
	return path
}

// below returns a path with ~ for home.
func below(path, home string) (short string, ok bool) {
	if home == "/" {
		return "", false
	}
	rest, ok := strings.CutPrefix(path+"/", home+"/")
	return strings.TrimSuffix("~/"+rest, "/"), ok
}

// maxDirectory returns the width of the directory column on a terminal of this width.
func maxDirectory(width int) int { return max(width/5, 12) }

// fitDirectories cuts the beginnings of directories, because their ends differ.
func (a *app) fitDirectories(rows [][]render.Cell) {
	const last = 5
	if a.screen().Width == 0 {
		return
	}
	most := maxDirectory(a.columns())
	for i := range rows {
		if len(rows[i]) <= last {
			continue
		}
		text := render.Line(rows[i][last].Text)
		if over := ansi.StringWidth(text) - most; over > 0 {
			rows[i][last].Text = ansi.TruncateLeft(text, over+1, "…")
		}
	}
}
