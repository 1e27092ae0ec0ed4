package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/projectfiles"
	"github.com/patchbay-dev/patchbay/internal/render"
)

func newProjectCommand(a *app) *cobra.Command {
	return newGroupCommand("project", "Show what a project has for Patchbay, and trust its plugins",
		newProjectStatusCommand(a), newProjectTrustCommand(a), newProjectUntrustCommand(a), newProjectListCommand(a))
}

func newProjectStatusCommand(a *app) *cobra.Command {
	var diff bool
	cmd := &cobra.Command{
		Use:   "status [DIR]",
		Short: "Show what a project has for Patchbay, and what is used",
		Long: `Show what a project has for Patchbay: AGENTS.md, which is part of the agent's
prompt; prompts in .patchbay/prompts, which are commands of chat; plugins in
.patchbay/plugins, which run only if you have trusted them; and the settings in
.patchbay/config.toml. No plugin is started, and nothing is changed.

The root of the project is the nearest directory with a .git, going up from the
current directory or DIR. If there is no .git, the current directory or DIR
itself is the root.`,
		Example: `  patchbay project status
  patchbay project status ~/src/site --diff
  patchbay project status --json | jq -r .state`,
		Annotations: exits(exit{exitOK, "the project was shown, trusted or not"}, exit{exitNotFound, "no such directory"}),
		Args:        atMostOne,
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := a.projectAt(args)
			if err != nil {
				return err
			}
			return a.runProjectStatus(p, diff)
		},
		ValidArgsFunction: completeDirs,
	}
	cmd.Flags().BoolVar(&diff, "diff", false, "also show the changed lines of plugins")
	return cmd
}

type projectTrustOptions struct {
	yes, diff bool
	digest    string
}

func newProjectTrustCommand(a *app) *cobra.Command {
	var opts projectTrustOptions
	cmd := &cobra.Command{
		Use:   "trust [DIR]",
		Short: "Show the plugins of a project, and let them run",
		Long: `Show the plugins in .patchbay/plugins of a project: their files, their hooks (as
far as their files list them), what they may do, and what has changed since you
last trusted them. Then ask whether they may run. The plugins that run are a
copy of exactly the files that were shown. When the project's plugins change,
they do not run until you trust them again.

Without a terminal, --yes answers the question, and --digest makes sure that the
plugins are the ones you have seen. A running daemon reloads its plugins. Your
decision is stored in your own data directory, where the project cannot change
it.`,
		Example: `  patchbay project trust
  patchbay project trust ~/src/site --diff
  patchbay project trust --yes --digest "$(patchbay project status --json | jq -r .digest)"`,
		Annotations: exits(exit{exitOK, "the plugins are trusted"}, exit{exitFailed, "the plugins cannot be trusted as they are"},
			exit{exitRefused, "you said no, or the plugins have another digest than --digest"}, exit{exitNotFound, "no such directory, or it has no plugins"}),
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.projectAt(args)
			if err != nil {
				return err
			}
			return a.runProjectTrust(cmd.Context(), p, opts)
		},
		ValidArgsFunction: completeDirs,
	}
	cmd.Flags().BoolVarP(&opts.yes, "yes", "y", false, "do not ask first")
	cmd.Flags().BoolVar(&opts.diff, "diff", false, "show all changed lines of plugins, however many")
	cmd.Flags().StringVar(&opts.digest, "digest", "", "trust the plugins only if they have this `DIGEST` (see patchbay project status --json)")
	return cmd
}

func newProjectUntrustCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "untrust [DIR]",
		Short: "Stop trusting the plugins of a project",
		Long: `Forget that you trusted or declined the plugins of a project, and remove the
copy of them. A running daemon stops them. The project itself is not changed.
DIR need not exist any more.`,
		Example: `  patchbay project untrust
  patchbay project untrust ~/src/site`,
		Annotations: exits(exit{exitOK, "the decision was removed"}, exit{exitNotFound, "you have neither trusted nor declined the plugins of the project"}),
		Args:        atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.projectNamed(args)
			if err != nil {
				return err
			}
			return a.runProjectUntrust(cmd.Context(), p)
		},
		ValidArgsFunction: completeDirs,
	}
}

func newProjectListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the projects whose plugins you have trusted or declined",
		Long: `List the projects whose plugins you have trusted or declined, each with its
state. If its plugins have changed since you decided, the state is "changed".`,
		Example: `  patchbay project list
  patchbay project list --json | jq -r '.[] | select(.state == "changed").root'`,
		Annotations: exits(exit{exitOK, "the projects were listed"}),
		Args:        arguments(),
		RunE:        func(*cobra.Command, []string) error { return a.runProjectList() },
	}
}

func completeDirs(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// A projectRef is a project, with the store that knows whether it is trusted.
type projectRef struct {
	root  string
	store projectfiles.Store
}

// projectNamed returns the project of a directory, which need not exist.
func (a *app) projectNamed(args []string) (projectRef, error) {
	dirs, err := a.configDirs()
	if err != nil {
		return projectRef{}, err
	}
	root, err := a.projectRoot()
	if len(args) > 0 {
		var dir string
		dir, err = filepath.Abs(a.path(args[0]))
		root = pluginhost.ProjectRoot(dir)
	}
	return projectRef{root, projectfiles.In(dirs)}, err
}

// projectAt returns the project of a directory that exists.
func (a *app) projectAt(args []string) (projectRef, error) {
	p, err := a.projectNamed(args)
	if err != nil {
		return p, err
	}
	if info, err := os.Stat(p.root); err != nil || !info.IsDir() {
		return p, &problem{kind: kindNotFound, err: fmt.Errorf("%s: no such directory", p.root), fix: "name a directory that exists"}
	}
	return p, nil
}

func (a *app) runProjectStatus(p projectRef, diff bool) error {
	view, staged, err := a.projectView(p)
	if err != nil {
		return err
	}
	if staged != nil {
		defer staged.Close() // if the copy cannot be removed, the next command removes it
	}
	if a.flags.json {
		return a.printJSON(view)
	}
	a.printProject(view)
	if diff && staged != nil {
		return a.printProjectChanges(staged, true)
	}
	return nil
}

func (a *app) runProjectTrust(ctx context.Context, p projectRef, opts projectTrustOptions) error {
	view, staged, err := a.projectView(p)
	if err != nil {
		return err
	}
	if staged == nil {
		return nothingToTrust(view, p.store.IsHome(p.root))
	}
	defer staged.Close() // Close does not remove a trusted copy
	if opts.digest != "" && opts.digest != staged.Digest {
		return &problem{kind: kindRefused, err: errors.New("the plugins have another digest; nothing was trusted"),
			fix: "`patchbay project status` shows them"}
	}
	if view.State == projectfiles.Trusted {
		return a.showTrusted(ctx, p, view, "was trusted already")
	}
	if !a.flags.json {
		a.printProjectPlugins(view, false)
		if err := a.printProjectChanges(staged, opts.diff); err != nil {
			return err
		}
	}
	if err := a.confirmIrreversible(ctx, trustQuestion, opts.yes); err != nil {
		return err
	}
	if err := staged.Trust(view.capabilities()); err != nil {
		return &problem{kind: kindFailed, err: err}
	}
	view.State = projectfiles.Trusted
	return a.showTrusted(ctx, p, view, "trusted")
}

// trustQuestion says what a yes means. It is short, so that the answer fits on the same line of a
// terminal with 80 columns.
const trustQuestion = "\nTrust this? It runs as you, whenever you work in this project."

// showTrusted prints that a project is trusted, tells the daemon, and removes older copies.
func (a *app) showTrusted(ctx context.Context, p projectRef, view *projectView, verb string) error {
	if a.flags.json {
		if err := a.printJSON(view); err != nil {
			return err
		}
	} else {
		a.printf("%s %s\n", a.screen().Paint(render.StyleBold, a.place(p.root)), verb)
	}
	err := a.tellDaemon(ctx)
	a.sweepProject(p)
	return err
}

func (a *app) sweepProject(p projectRef) {
	if err := p.store.Sweep(p.root); err != nil {
		a.logger().Warn("cannot remove old copies of the project's plugins", "err", err)
	}
}

// nothingToTrust returns why there is nothing to trust.
func nothingToTrust(v *projectView, home bool) error {
	if v.State == projectfiles.Refused {
		return &problem{kind: kindFailed, err: fmt.Errorf("the plugins of %s cannot be trusted as they are: %s", v.Root, v.Reason), fix: v.Fix}
	}
	if home {
		return &problem{kind: kindNotFound, err: fmt.Errorf("%s is your home directory, and not a project", v.Root), fix: "change to the directory of a project; to have plugins everywhere: patchbay plugin install SOURCE"}
	}
	return &problem{kind: kindNotFound, err: fmt.Errorf("%s has no plugins to trust", v.Root), fix: "put plugins into " + filepath.Join(v.Root, projectfiles.PluginsDir)}
}

func (a *app) runProjectUntrust(ctx context.Context, p projectRef) error {
	found, err := p.store.Forget(p.root)
	if err != nil {
		return err
	}
	if !found {
		return &problem{kind: kindNotFound, err: fmt.Errorf("you have neither trusted nor declined the plugins of %s", p.root), fix: "`patchbay project list` lists the projects with a decision"}
	}
	if a.flags.json {
		err = a.printJSON(map[string]string{"root": p.root, "state": string(projectfiles.Untrusted)})
	} else {
		a.printf("%s is forgotten: its plugins are neither trusted nor declined\n", a.screen().Paint(render.StyleBold, a.place(p.root)))
	}
	err = firstError(err, a.tellDaemon(ctx))
	a.sweepProject(p)
	return err
}

func (a *app) runProjectList() error {
	dirs, err := a.configDirs()
	if err != nil {
		return err
	}
	store := projectfiles.In(dirs)
	records, err := store.List()
	if err != nil {
		return err
	}
	for i := range records {
		if now := store.Look(records[i].Root); now.State == projectfiles.Changed || now.State == projectfiles.Refused {
			records[i].State = now.State
		}
	}
	if a.flags.json {
		return a.printJSON(records)
	}
	if len(records) == 0 {
		a.sayf("You have not trusted or declined the plugins of any project. `patchbay project status` shows the current project.\n")
		return nil
	}
	rows := [][]render.Cell{render.Head("PROJECT", "STATE", "SINCE")}
	for _, r := range records {
		rows = append(rows, []render.Cell{{Text: a.place(r.Root), Style: render.StyleBold}, {Text: string(r.State), Style: projectStyle(r.State)},
			{Text: r.Recorded.Local().Format(time.DateTime), Style: render.StyleDim}})
	}
	return render.Table(a.out, rows, a.screen())
}
