package cli

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/internal/session"
	"github.com/patchbay-dev/patchbay/internal/sessionstore"
)

func newSessionCommand(a *app) *cobra.Command {
	cmd := newGroupCommand("session", "List, read, export and delete conversations",
		newSessionListCommand(a), newSessionShowCommand(a), newSessionExportCommand(a), newSessionDeleteCommand(a))
	cmd.GroupID = groupAgent
	return cmd
}

// sessionListFix is said where a session is not found.
const sessionListFix = "`patchbay session list` lists the sessions"

// findSession finds a session by its id or a beginning of it.
func findSession(ctx context.Context, s *sessionstore.Store, id string) (session.Session, error) {
	found, err := s.Find(ctx, id)
	return found, sessionProblem(err, sessionListFix)
}

// sessionProblem gives the errors about sessions their kinds, and says what to do about them.
func sessionProblem(err error, missing string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, session.ErrNotFound):
		return &problem{kind: kindNotFound, err: err, fix: missing}
	case is[*sessionstore.AmbiguousError](err):
		return &problem{kind: kindUsage, err: err, fix: sessionListFix}
	case is[*session.BusyError](err):
		return &problem{kind: kindFailed, err: err, fix: "wait until its turn ends, or end the other conversation"}
	}
	return err
}

// goesOnHere refuses another agent's session: its messages are not here.
func goesOnHere(s session.Session) error {
	if !session.IsHost(s.ID) {
		return nil
	}
	return usage("continue it in that agent; its id there is "+render.Line(s.HostSession), "session %s belongs to %s and cannot be continued here", s.ID, s.Host)
}

// workingDir is the directory that the command works in, as sessions name it.
func (a *app) workingDir() (string, error) { return filepath.Abs(a.dir()) }

// shortDigits is how many characters of an id are shown: those that tell the millisecond in which
// the session was made.
const shortDigits = session.TimeDigits

// shortIDs are the ids as a table shows them: beginnings without ses_, as long as it takes to tell
// them apart.
func shortIDs(list []session.Summary) []string {
	out := make([]string, len(list))
	for i := range list {
		full := strings.TrimPrefix(list[i].ID, session.Prefix)
		n := min(shortDigits, len(full))
		for n < len(full) && slices.ContainsFunc(list, func(other session.Summary) bool {
			return other.ID != list[i].ID && strings.HasPrefix(other.ID, session.Prefix+full[:n])
		}) {
			n++
		}
		out[i] = full[:n]
	}
	return out
}

// mostCompleted bounds how many sessions a press of the tab key offers.
const mostCompleted = 100

// completeSessions offers the ids of sessions with their titles, the newest first. own leaves out
// those of other agents.
func (a *app) completeSessions(ctx context.Context, own bool) []cobra.Completion {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	var out []cobra.Completion
	_ = a.openRecords(ctx, slog.New(slog.DiscardHandler), func(r *daemon.Records) error { // an error offers nothing: a person is typing
		found, _, err := r.Sessions.Search(ctx, session.Query{Own: own, Limit: mostCompleted})
		for _, one := range found {
			out = append(out, cobra.CompletionWithDesc(one.ID, render.Line(sessionTitle(one.Session))))
		}
		return err
	})
	return out
}

// completeIDs is completeSessions for the arguments of a command, which names a session once.
func (a *app) completeIDs(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		offers := slices.DeleteFunc(a.completeSessions(cmd.Context(), false), func(c cobra.Completion) bool {
			id, _, _ := strings.Cut(c, "\t")
			return slices.Contains(args, id)
		})
		return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// sessionTitle is what a session is called where people read it.
func sessionTitle(s session.Session) string {
	if s.Title == "" {
		return "(no messages)"
	}
	return s.Title
}
