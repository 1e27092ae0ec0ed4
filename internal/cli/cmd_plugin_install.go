package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/plugininstall"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

type installOptions struct {
	plugins []string
	all     bool
	force   bool
	dryRun  bool
}

func newPluginInstallCommand(a *app) *cobra.Command {
	var opts installOptions
	cmd := &cobra.Command{
		Use:   "install SOURCE",
		Short: "Install a plugin from a directory, an archive or a git repository",
		Long: `Copy a plugin to the plugin directory of its dialect, and record it in
patchbay.lock. A scaffold plugin with several files goes into a directory of
Patchbay's own, and a small file that starts it goes into the plugin directory.
SOURCE is one of these:

  a directory or a file
  a .tar, .tar.gz or .zip archive: a path or an https address
  a git repository: OWNER/REPO on GitHub, a path, or an https or ssh address;
    @REF after it chooses a branch, a tag or a commit

No part of the plugin is built or run; commands that you may have to run are
printed. The manifest file of a kaged or mine plugin is checked. If a source has
several plugins, choose with --plugin or --all. A plugin that was installed
before is replaced in one step; a running daemon switches to the new one and
loses no event.`,
		Example: `  patchbay plugin install ./my-plugin
  patchbay plugin install shout-1.2.tar.gz
  patchbay plugin install owner/repo@v1.2.0
  patchbay plugin install git@example.org:me/plugins.git --plugin notes
  patchbay plugin install ./my-plugin --dry-run --json`,
		Annotations: exits(exit{exitOK, "the plugin was installed, or is installed already"}, exit{exitFailed, "the source cannot be fetched, or is not safe to unpack, or its manifest is not valid"},
			exit{exitRefused, "another plugin is already there; see --force"}, exit{exitNotFound, "there is no such source, or it has no plugin of that name"}),
		Args: arguments("SOURCE"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runPluginInstall(cmd.Context(), args[0], opts) },
	}
	cmd.Flags().StringArrayVar(&opts.plugins, "plugin", nil, "install the plugin `NAME` of a source with several (may be repeated)")
	cmd.Flags().BoolVar(&opts.all, "all", false, "install all plugins of the source")
	cmd.Flags().BoolVar(&opts.force, "force", false, "replace a plugin that was changed, was not installed by Patchbay, or came from another source")
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "show what would be installed, and write nothing")
	return cmd
}

// sourceOptions returns the options for installing plugins.
func (a *app) sourceOptions() (plugininstall.Options, error) {
	dirs, err := a.dirs()
	if err != nil {
		return plugininstall.Options{}, err
	}
	o := plugininstall.Options{Environ: a.Environ, Dirs: dirs, Log: a.logger(), Progress: a.progress}
	hidden := a.hidden(dirs)
	o.Secrets = func() []string { return hidden().Texts }
	if _, err := config.LoadSecrets(dirs.SecretsFile); err != nil {
		o.Dirs.LockTexts = "" // the secrets are unknown, so store no texts, which may contain them
	}
	if len(a.flags.dialects) > 0 {
		o.Dialects = a.flags.dialects
	}
	return o, nil
}

// dirs returns the directories that located returns, or an error if the file of --config does not
// exist.
func (a *app) dirs() (config.Dirs, error) {
	if err := a.checkPlaces(); err != nil {
		return config.Dirs{}, err
	}
	return a.located()
}

// progress prints on stderr what is being done.
func (a *app) progress(text string) {
	if !a.flags.json {
		fmt.Fprintln(a.Err, a.errScreen().Paint(render.StyleDim, render.Line(text)+" …"))
	}
}

func (a *app) runPluginInstall(ctx context.Context, text string, opts installOptions) error {
	o, err := a.sourceOptions()
	if err != nil {
		return err
	}
	source, err := plugininstall.ParseSource(text, a.dir())
	if errors.Is(err, fs.ErrNotExist) {
		return notFound(err, fixOf(err))
	}
	if err != nil {
		return usage(fixOf(err), "%w", err)
	}
	fetched, err := plugininstall.Fetch(ctx, source, o)
	if err != nil {
		return installProblem(ctx, err)
	}
	defer func() {
		if err := fetched.Close(); err != nil {
			a.logger().Warn("cannot remove the fetched files", "err", err)
		}
	}()
	chosen, err := a.choose(ctx, fetched, opts)
	if err != nil {
		return err
	}
	placed := []*plugininstall.Placed{}
	for _, p := range chosen {
		done, err := fetched.Place(ctx, p, plugininstall.PlaceOptions{DryRun: opts.dryRun, Force: opts.force})
		if err != nil {
			return errors.Join(installProblem(ctx, err), a.finish(ctx, placed))
		}
		placed = append(placed, done)
	}
	return a.finish(ctx, placed)
}

// installProblem returns the error of a source or a plugin that cannot be installed.
func installProblem(ctx context.Context, err error) error {
	if ctx.Err() != nil || is[*config.Error](err) {
		return err
	}
	k := kindFailed
	if is[*plugininstall.TakenError](err) {
		k = kindRefused
	}
	return &problem{kind: k, err: err, fix: fixOf(err)}
}

// choose returns the plugins of a source that the user wants. It never guesses.
func (a *app) choose(ctx context.Context, f *plugininstall.Fetched, opts installOptions) ([]plugininstall.Plugin, error) {
	switch {
	case len(f.Plugins) == 0:
		err := f.NothingFound()
		return nil, &problem{kind: kindNotFound, err: err, fix: fixOf(err)}
	case opts.all && len(opts.plugins) > 0:
		return nil, usage("leave out one of them", "plugin install: --plugin and --all cannot be used together")
	case opts.all:
		return f.Plugins, nil
	case len(opts.plugins) > 0:
		return chosenByName(f, opts.plugins)
	case len(f.Plugins) == 1:
		return f.Plugins, nil
	case a.InTTY && a.OutTTY && !a.flags.json:
		return a.askWhich(ctx, f)
	}
	return nil, usage("choose with --plugin NAME, or --all", "the source has several plugins: %s", strings.Join(ids(f.Plugins), ", "))
}

func chosenByName(f *plugininstall.Fetched, names []string) ([]plugininstall.Plugin, error) {
	var chosen []plugininstall.Plugin
	for _, name := range names {
		found := f.Meant(name)
		switch len(found) {
		case 0:
			return nil, &problem{kind: kindNotFound, err: fmt.Errorf("the source has no plugin %s", name),
				fix: suggestName(name, ids(f.Plugins), "it has "+strings.Join(ids(f.Plugins), ", "))}
		case 1:
			chosen = append(chosen, found[0])
		default:
			return nil, usage("write DIALECT:NAME", "several plugins are called %s: %s", name, strings.Join(ids(found), ", "))
		}
	}
	return chosen, nil
}

func ids(plugins []plugininstall.Plugin) []string {
	var out []string
	for _, p := range plugins {
		out = append(out, p.ID())
	}
	return out
}

// askWhich asks on the terminal which plugins to install.
func (a *app) askWhich(ctx context.Context, f *plugininstall.Fetched) ([]plugininstall.Plugin, error) {
	a.sayf("The source has several plugins:\n")
	for i, p := range f.Plugins {
		a.printf("  %d  %s  %s\n", i+1, render.Line(p.ID()), a.place(p.Path))
	}
	answer, err := a.ask(ctx, "Install which? Numbers or names, separated by spaces, or all: ")
	if err != nil {
		return nil, err
	}
	words := strings.Fields(answer)
	if len(words) == 1 && words[0] == "all" {
		return f.Plugins, nil
	}
	if len(words) == 0 {
		return nil, &problem{kind: kindFailed, err: errors.New("no plugin was chosen, and nothing was installed")}
	}
	for i, w := range words {
		var n int
		if _, err := fmt.Sscanf(w, "%d", &n); err == nil && n >= 1 && n <= len(f.Plugins) {
			words[i] = f.Plugins[n-1].ID()
		}
	}
	return chosenByName(f, words)
}

// finish reloads the daemon, removes the files of replaced plugins, and prints what was done.
func (a *app) finish(ctx context.Context, placed []*plugininstall.Placed) error {
	if len(placed) == 0 {
		return nil
	}
	changed := false
	for _, p := range placed {
		changed = changed || !p.Unchanged && !p.DryRun
		addDiffs(p.Changes)
		if !a.flags.json {
			a.printPlaced(p)
		}
	}
	var err error
	if changed {
		err = a.tellDaemon(ctx)
	}
	for _, p := range placed {
		if cleanErr := p.Clean(); cleanErr != nil {
			a.logger().Warn("cannot remove the replaced files", "err", cleanErr)
		}
	}
	if a.flags.json {
		return firstError(a.printJSON(placed), err)
	}
	return err
}

func (a *app) printPlaced(p *plugininstall.Placed) {
	o := a.screen()
	verb := "installed"
	switch {
	case p.Unchanged:
		verb = "is up to date"
	case p.DryRun:
		verb = "would be installed"
	case p.Replaced:
		verb = "replaced"
	}
	name := o.Paint(render.StyleBold, p.Name)
	commit := excerptOf(p.Commit)
	if p.Was != "" && p.Was != p.Commit {
		commit = excerptOf(p.Was) + " → " + commit
	}
	version := strings.TrimSpace(p.Ref + " " + commit)
	if version != "" {
		version = " (" + version + ")"
	}
	a.printf("%s %s %s%s in %s\n", name, o.Paint(render.StyleDim, p.Dialect), verb, render.Line(version), a.place(p.Path))
	if p.Files != "" {
		a.printf("  its files are in %s\n", a.place(p.Files))
	}
	if p.DryRun {
		a.printFileChanges(p.Changes)
	} else if n := len(p.Changes); n > 0 {
		a.sayf("  %s\n", render.Line(trust.SummaryOf(p.Changes)))
	}
	if len(p.Capabilities) > 0 {
		a.sayf("  its capabilities are %s\n", render.Line(strings.Join(p.Capabilities, ", ")))
	}
	if len(p.Withheld) > 0 {
		a.sayf("  %s\n", o.Paint(render.StyleYellow, "it also asks for capabilities that it does not get until `patchbay plugin trust "+program.Quote(p.Name)+"`: "+strings.Join(p.Withheld, ", ")))
	}
	for _, n := range p.Notes {
		a.sayf("  %s\n", o.Paint(render.StyleYellow, n))
	}
	if !p.Unchanged {
		a.printHints(p)
	}
}

// printHints prints what a person may have to do before the plugin works.
func (a *app) printHints(p *plugininstall.Placed) {
	if p.Readme != "" {
		a.printf("  its README is %s\n", a.place(p.Readme))
	}
	if len(p.Hints) > 0 {
		a.printf("  Patchbay has run none of its files. You may have to run:\n")
	}
	for _, h := range p.Hints {
		a.printf("    %s\n", render.Line(h))
	}
}

func excerptOf(commit string) string {
	if len(commit) > 12 {
		return commit[:12]
	}
	return commit
}
