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

// sessionListFix is the fix for a session that is not found.
const sessionListFix = "`patchbay session list` lists the sessions"

// findSession returns the session with an id or the beginning of one.
func findSession(ctx context.Context, s *sessionstore.Store, id string) (session.Session, error) {
	found, err := s.Find(ctx, id)
	return found, sessionProblem(err, sessionListFix)
}

// sessionProblem gives errors about sessions a kind and a fix.
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

// checkOwnSession refuses sessions of other agents, because their messages are not stored here.
func checkOwnSession(s session.Session) error {
	if !session.IsHost(s.ID) {
		return nil
	}
	return usage("continue it in that agent; its id there is "+render.Line(s.HostSession), "session %s belongs to %s and cannot be continued here", s.ID, s.Host)
}

// workingDir returns the directory in which the command works, in the form that sessions store.
func (a *app) workingDir() (string, error) { return filepath.Abs(a.dir()) }

// shortDigits is how many characters of an id are shown: those that encode the millisecond in which
// the session was created.
const shortDigits = session.TimeDigits

// shortIDs returns ids for a table: their beginnings without ses_, long enough to be different.
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

// mostCompleted limits how many sessions completion offers.
const mostCompleted = 100

// completeSessions returns the ids of sessions that begin with typed, with their titles, the newest
// first. `session list` prints ids without ses_. If typed is the beginning of such an id, the
// returned ids have no ses_ either, because a shell drops offers that do not begin with typed. If
// own is set, sessions of other agents are left out.
func (a *app) completeSessions(ctx context.Context, own bool, typed string) []cobra.Completion {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	var out []cobra.Completion
	_ = a.openRecords(ctx, slog.New(slog.DiscardHandler), func(r *daemon.Records) error { // completion does not show errors
		found, _, err := r.Sessions.Search(ctx, session.Query{Own: own, Limit: mostCompleted})
		for _, one := range found {
			for _, id := range []string{one.ID, strings.TrimPrefix(one.ID, session.Prefix)} {
				if strings.HasPrefix(id, typed) {
					out = append(out, cobra.CompletionWithDesc(id, render.Line(sessionTitle(one.Session))))
					break
				}
			}
		}
		return err
	})
	return out
}

// completeIDs completes session ids for the arguments of a command, each id once. It offers at most
// the given number of arguments; 0 is no limit.
func (a *app) completeIDs(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		offers := slices.DeleteFunc(a.completeSessions(cmd.Context(), false, typed), func(c cobra.Completion) bool {
			id, _, _ := strings.Cut(c, "\t")
			return slices.ContainsFunc(args, func(arg string) bool {
				return strings.TrimPrefix(arg, session.Prefix) == strings.TrimPrefix(id, session.Prefix)
			})
		})
		return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// sessionTitle returns the title of a session, or a placeholder.
func sessionTitle(s session.Session) string {
	if s.Title == "" {
		return "(no messages)"
	}
	return s.Title
}
