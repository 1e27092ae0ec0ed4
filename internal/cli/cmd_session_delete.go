package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/internal/session"
)

func newSessionDeleteCommand(a *app) *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use:   "delete ID…",
		Short: "Delete conversations permanently",
		Long: `Delete sessions: their messages, and the record of what plugins did in them. On
a terminal, the command asks first; without a terminal it needs --yes. If one of
the ids is not found, no session is deleted.

A session in use is not deleted: one with a running turn, on any machine, or one
that a ` + "`patchbay chat`" + ` on this machine has open. For a session of another agent,
only Patchbay's data is deleted; the files of the agent stay as they are.`,
		Example: `  patchbay session delete 01m7ewsr29
  patchbay session delete --yes 01m7ewsr29 01m7f0a3xq`,
		Annotations: exits(exit{exitOK, "the sessions were deleted"}, exit{exitFailed, "a session is in use, or cannot be deleted; the others were deleted"},
			exit{exitRefused, "you said no"}, exit{exitNotFound, "there is no such session; nothing was deleted"}),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("usage: "+cmd.UseLine(), "%s: missing ID", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: a.completeIDs(0),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.runSessionDelete(cmd.Context(), args, yes) },
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask first")
	return cmd
}

// deletedJSON is the result of session delete in JSON.
type deletedJSON struct {
	Deleted []string    `json:"deleted"`
	Failed  []failedOne `json:"failed"`
}

type failedOne struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

func (a *app) runSessionDelete(ctx context.Context, ids []string, yes bool) error {
	return a.withRecords(ctx, func(r *daemon.Records) error {
		var list []session.Session
		for _, id := range ids {
			one, err := findSession(ctx, r.Sessions, id)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(list, func(s session.Session) bool { return s.ID == one.ID }) {
				list = append(list, one)
			}
		}
		if err := a.confirmIrreversible(ctx, deleteQuestion(list), yes); err != nil {
			return err
		}
		return a.deleteSessions(ctx, r, list)
	})
}

// deleteQuestion names the sessions that would be deleted, at most five.
func deleteQuestion(list []session.Session) string {
	const most = 5
	if len(list) == 1 {
		return fmt.Sprintf("delete %s, session %s?", quoted(sessionTitle(list[0])), list[0].ID)
	}
	var b strings.Builder
	for i, s := range list {
		if i == most {
			fmt.Fprintf(&b, "  and %d more\n", len(list)-most)
			break
		}
		fmt.Fprintf(&b, "  %s  %s\n", s.ID, render.Cut(render.Line(sessionTitle(s)), 60))
	}
	return fmt.Sprintf("%sdelete these %d sessions?", b.String(), len(list))
}

// deleteSessions deletes the sessions that can be deleted, and reports the others.
func (a *app) deleteSessions(ctx context.Context, r *daemon.Records, list []session.Session) error {
	done := deletedJSON{Deleted: []string{}, Failed: []failedOne{}}
	var errs []error
	for _, s := range list {
		err := r.Remove(ctx, s.ID)
		if err != nil {
			errs = append(errs, err)
			done.Failed = append(done.Failed, failedOne{s.ID, err.Error()})
			continue
		}
		done.Deleted = append(done.Deleted, s.ID)
		if !a.flags.json {
			a.printf("deleted %s  %s\n", s.ID, render.Line(sessionTitle(s)))
		}
	}
	var err error
	if a.flags.json {
		err = a.printJSON(done)
	}
	if len(errs) == 1 {
		return firstError(err, sessionProblem(errs[0], sessionListFix))
	}
	return firstError(err, sessionProblem(errors.Join(errs...), sessionListFix))
}

// quoted returns a title for use in a sentence.
func quoted(title string) string { return `"` + render.Cut(render.Line(title), 60) + `"` }
