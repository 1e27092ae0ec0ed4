package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/approval"
	"github.com/patchbay-dev/patchbay/internal/project"
	"github.com/patchbay-dev/patchbay/internal/render"
)

func newApprovalsCommand(a *app) *cobra.Command {
	cmd := newGroupCommand("approvals", "List, add and remove commands that the agent runs without asking",
		newApprovalsListCommand(a), newApprovalsAddCommand(a), newApprovalsRemoveCommand(a))
	cmd.GroupID = groupAgent
	cmd.Long = `List, add and remove the commands that the agent's shell runs without asking.
Each approval is for one project. In ` + "`patchbay chat`" + `, press p at a question to
approve the command for the project; /approvals lists and removes approvals.

A project is the repository that contains the working directory, or the
directory itself if it is in no repository. Approvals are stored in
approvals.json in your state directory, not in the project, so that a repository
cannot approve its own commands.`
	return cmd
}

func newApprovalsListCommand(a *app) *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the approvals of this project",
		Long: `List the commands that run without a question in this project. An … at the end
of a command means that more arguments may follow. If the approval was made in
the chat, these arguments must not name paths outside of the project, and must
not be options that run programs or write files. If it was added with
` + "`patchbay approvals add`" + `, they may be anything.`,
		Example:     "  patchbay approvals list\n  patchbay approvals list --all --json",
		Annotations: exits(exit{exitOK, "the approvals were listed, or there are none"}, exit{exitFailed, "the file cannot be read"}),
		Args:        arguments(),
		RunE:        func(*cobra.Command, []string) error { return a.listApprovals(all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "list the approvals of all projects")
	return cmd
}

func newApprovalsAddCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add WORD…",
		Short: "Let commands that begin with these words run without asking",
		Long: `Let simple commands that begin with these words run without asking in this
project, with any arguments after them. A command line never matches if it has a
second command, a redirection, an expansion or an assignment. Programs that can
start any other program (sh, sudo, env, xargs, python and some more) are
refused. In a conversation you can still approve one exact command line of such
a program.

Flags of Patchbay stand before the first WORD; those after it are part of the
command.`,
		Example:     "  patchbay approvals add docker compose ps\n  patchbay approvals add kubectl -n test get",
		Annotations: exits(exit{exitOK, "the approval was stored"}, exit{exitFailed, "the file cannot be written"}),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("usage: "+cmd.UseLine(), "%s: missing WORD", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.addApproval(args) },
	}
	passesWordsOn(cmd) // options after the first word belong to the prefix
	return cmd
}

func newApprovalsRemoveCommand(a *app) *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "remove COMMAND | --all",
		Short: "Remove an approval of this project",
		Long: `Remove an approval of this project, so that the agent asks again. Write COMMAND
as ` + "`patchbay approvals list`" + ` shows it, with or without the … at its end. The
removal applies to running conversations at once.`,
		Example:     "  patchbay approvals remove 'git status'\n  patchbay approvals remove --all",
		Annotations: exits(exit{exitOK, "the approval was removed"}, exit{exitFailed, "the file cannot be written"}, exit{exitNotFound, "there is no such approval"}),
		Args: func(cmd *cobra.Command, args []string) error {
			if all {
				return arguments()(cmd, args)
			}
			return arguments("COMMAND")(cmd, args)
		},
		ValidArgsFunction: completeOnce(a.completeApprovals),
		RunE: func(_ *cobra.Command, args []string) error {
			if all {
				return a.removeApprovals("", func(approval.Rule) bool { return true })
			}
			return a.removeApprovals(args[0], func(r approval.Rule) bool { return r.Called(args[0]) })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "remove every approval of this project")
	return cmd
}

// approvals returns the approvals of the project of a directory.
func (a *app) approvals(dir string) (approval.Project, error) {
	dirs, err := a.dirs()
	if err != nil {
		return approval.Project{}, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return approval.Project{}, err
	}
	return approval.Store{Path: filepath.Join(dirs.State, approval.FileName)}.Project(project.Root(dir)), nil
}

// approvalJSON is an approval in JSON.
type approvalJSON struct {
	Project string    `json:"project"`
	Command string    `json:"command"`
	Exact   bool      `json:"exact"` // only this command matches
	Any     bool      `json:"any"`   // any arguments may follow
	Added   time.Time `json:"added"`
}

func (a *app) listApprovals(all bool) error {
	this, err := a.approvals(a.dir())
	if err != nil {
		return err
	}
	projects := []approval.Project{this}
	if all {
		if projects, err = (approval.Store{Path: this.Path()}).Projects(); err != nil {
			return err
		}
	}
	rows := []approvalJSON{}
	for _, p := range projects {
		rules, err := p.Rules()
		if err != nil {
			return err
		}
		for _, r := range rules {
			rows = append(rows, approvalJSON{p.Root, r.String(), len(r.Prefix) == 0, r.Any, r.Added})
		}
	}
	switch {
	case a.flags.json:
		return a.printJSON(map[string][]approvalJSON{"approvals": rows})
	case len(rows) == 0 && all:
		a.sayf("There are no approvals. To approve a command, press p at its question in `patchbay chat`.\n")
		return nil
	case len(rows) == 0:
		a.sayf("There are no approvals for %s. To approve a command, press p at its question in `patchbay chat`.\n", a.place(this.Root))
		return nil
	}
	return a.approvalTable(rows)
}

func (a *app) approvalTable(rows []approvalJSON) error {
	table := [][]render.Cell{{{Text: "COMMAND", Style: render.StyleDim}, {Text: "ARGUMENTS", Style: render.StyleDim},
		{Text: "SINCE", Style: render.StyleDim}, {Text: "PROJECT", Style: render.StyleDim}}}
	for _, r := range rows {
		arguments := "those that stay in the project"
		switch {
		case r.Exact:
			arguments = "only these"
		case r.Any:
			arguments = "any"
		}
		table = append(table, []render.Cell{{Text: r.Command, Style: render.StyleBold}, {Text: arguments},
			{Text: r.Added.Local().Format(time.DateOnly)}, {Text: a.place(r.Project), Style: render.StyleDim}})
	}
	return render.Table(a.out, table, a.screen())
}

func (a *app) addApproval(words []string) error {
	p, err := a.approvals(a.dir())
	if err != nil {
		return err
	}
	if len(words) == 1 { // 'git status' in quotes, as remove accepts it
		if split, ok := approval.Words(words[0]); ok {
			words = split
		}
	}
	r, err := approval.Typed(words)
	if err != nil {
		return usage("approve the exact command instead: press p at its question in `patchbay chat`", "approvals: %w", err)
	}
	if err := p.Add(r); err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(approvalJSON{Project: p.Root, Command: r.String(), Any: true, Added: time.Now().UTC().Truncate(time.Second)})
	}
	a.sayf("%s runs without a question in %s.\n", render.Line(r.String()), a.place(p.Root))
	return nil
}

func (a *app) removeApprovals(which string, gone func(approval.Rule) bool) error {
	p, err := a.approvals(a.dir())
	if err != nil {
		return err
	}
	removed, err := p.Remove(gone)
	if err != nil {
		return err
	}
	if len(removed) == 0 && which != "" {
		return &problem{kind: kindNotFound, err: fmt.Errorf("no approval of %s is called %q", p.Root, which), fix: "`patchbay approvals list` lists the approvals"}
	}
	if a.flags.json {
		rows := []approvalJSON{}
		for _, r := range removed {
			rows = append(rows, approvalJSON{p.Root, r.String(), len(r.Prefix) == 0, r.Any, r.Added})
		}
		return a.printJSON(map[string][]approvalJSON{"removed": rows})
	}
	for _, r := range removed {
		a.sayf("The agent asks before %s again.\n", render.Line(r.String()))
	}
	if len(removed) == 0 {
		a.sayf("There is no approval to remove.\n")
	}
	return nil
}

func (a *app) completeApprovals(context.Context) []cobra.Completion {
	p, err := a.approvals(a.dir())
	if err != nil {
		return nil
	}
	rules, err := p.Rules()
	if err != nil {
		return nil // completion does not show errors
	}
	var out []cobra.Completion
	for _, r := range rules {
		out = append(out, r.String())
	}
	return out
}
