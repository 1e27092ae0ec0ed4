package cli

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/fixes"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

type trustOptions struct{ all, dryRun bool }

func newPluginTrustCommand(a *app) *cobra.Command {
	var opts trustOptions
	cmd := &cobra.Command{
		Use:   "trust NAME… | --all",
		Short: "Trust a plugin's present files: record them in patchbay.lock",
		Long: `Show which files and declared capabilities of a plugin have changed since it was
recorded in patchbay.lock, and record it as it is now. From then on it has all
the capabilities that it declares, unless the configuration lists capabilities
for it. The plugin is not started. A running daemon reloads its plugins.

Changed texts are shown as a diff. For a file that is binary, is larger than 256
KiB or contains one of your secrets, only sizes and SHA-256 are shown. A plugin
that changes during the command is not recorded.

With trust = "locked" in the configuration, only recorded plugins are started.`,
		Example: `  patchbay plugin trust weather --dry-run
  patchbay plugin trust weather
  patchbay plugin trust --all`,
		Annotations: exits(exit{exitOK, "the plugins are recorded"}, exit{exitFailed, "the files cannot be read, or patchbay.lock cannot be written"},
			exit{exitNotFound, "no such plugin"}, exit{exitConfig, "the configuration or patchbay.lock has an error"}),
		Args: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 0) != opts.all {
				return usage("usage: "+cmd.UseLine(), "%s: name plugins, or write --all", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: a.completeNames,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.runPluginTrust(cmd.Context(), args, opts) },
	}
	cmd.Flags().BoolVar(&opts.all, "all", false, "record all plugins")
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "show what has changed, and record nothing")
	return cmd
}

// completeNames completes plugins for each argument.
func (a *app) completeNames(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.completePlugins(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
}

func (a *app) runPluginTrust(ctx context.Context, names []string, opts trustOptions) error {
	changes := []*pluginhost.TrustChange{}
	err := a.withFound(ctx, func(host *pluginhost.Host) error {
		if opts.all {
			names = lockable(host)
		}
		for _, name := range names {
			change, err := host.Trust(name, opts.dryRun)
			if err != nil {
				return trustProblem(name, err)
			}
			changes = append(changes, change)
			addDiffs(change.Files)
			if !a.flags.json {
				a.printTrust(change, opts.dryRun)
			}
		}
		return nil
	})
	if a.flags.json && len(changes) > 0 {
		err = errors.Join(err, a.printJSON(changes))
	}
	if err != nil || opts.dryRun {
		return err
	}
	return a.tellDaemon(ctx)
}

// trustProblem returns why a plugin cannot be recorded, with a fix.
func trustProblem(name string, err error) error {
	switch {
	case errors.Is(err, pluginhost.ErrOfProject):
		return &problem{kind: kindFailed, err: err, fix: fixOf(err)}
	case errors.Is(err, pluginhost.ErrNotFound):
		return withFix(err, cmp.Or(fixOf(err), "`patchbay plugin list` lists the plugins"))
	case errors.Is(err, pluginhost.ErrAmbiguous), is[*config.Error](err):
		return err
	case errors.Is(err, trust.ErrChangedSinceShown):
		return &problem{kind: kindFailed, err: err, fix: "find out what writes its files (a build, or the plugin itself), then run the command again"}
	case errors.Is(err, trust.ErrNoLock):
		return &problem{kind: kindFailed, err: err, fix: name + " has no files of its own: the configuration names its program or address"}
	}
	return &problem{kind: kindFailed, err: err, fix: "make sure that you can read every file of the plugin, and that all are regular files"}
}

// lockable returns the plugins that the lock can contain, as DIALECT:NAME.
func lockable(host *pluginhost.Host) []string {
	var names []string
	for _, p := range host.Plugins() {
		if p.Dialect != "mcp" && p.Project == "" {
			names = append(names, p.Dialect+":"+p.Name)
		}
	}
	return names
}

// printTrust shows a change as a diff.
func (a *app) printTrust(c *pluginhost.TrustChange, dry bool) {
	o := a.screen()
	name := o.Paint(render.StyleBold, c.Plugin)
	if c.State == trust.Trusted {
		a.printf("%s is as it was recorded\n", name)
		return
	}
	verb := "is recorded"
	if dry {
		verb = "would be recorded"
	}
	if c.State == trust.New {
		a.printf("%s %s for the first time, with %s\n", name, verb, render.Count(len(c.Files), "file"))
	} else {
		a.printf("%s %s with these changes\n", name, verb)
	}
	a.printFileChanges(c.Files)
	for _, g := range c.Granted {
		a.printf("  %s\n", o.Paint(render.StyleGreen, "+ may "+g))
	}
	for _, d := range c.Dropped {
		a.printf("  %s\n", o.Paint(render.StyleRed, "- may "+d))
	}
}

// withFound finds plugins without starting them.
func (a *app) withFound(ctx context.Context, use func(*pluginhost.Host) error) error {
	o := a.options(nil)
	o.NoStart = true
	return a.withOptions(ctx, o, use)
}

// tellDaemon makes a running daemon reload. If that fails, the command's own work is done
// nevertheless, and the error says so.
func (a *app) tellDaemon(ctx context.Context) error {
	dirs, err := config.Locate(dialect.Env{Vars: a.Environ}.Get, runtime.GOOS)
	if err != nil {
		return err
	}
	err = daemon.Reload(ctx, dirs)
	switch {
	case errors.Is(err, daemon.ErrNoDaemon):
		return nil
	case err != nil:
		text, fix := fixes.Split(err)
		return &problem{kind: kindFailed, err: errors.New("the command is done, but the running daemon could not reload: " + strings.TrimPrefix(text, "the daemon says: ")),
			fix: cmp.Or(fix, "run `patchbay doctor` to see what is wrong, then reload the daemon with SIGHUP")}
	case !a.flags.json:
		a.printf("the daemon has reloaded\n")
	}
	return nil
}
