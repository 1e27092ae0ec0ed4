package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/plugininstall"
	"github.com/patchbay-dev/patchbay/internal/render"
)

type removeOptions struct{ yes, dryRun bool }

func newPluginRemoveCommand(a *app) *cobra.Command {
	var opts removeOptions
	cmd := &cobra.Command{
		Use:        "remove NAME",
		SuggestFor: []string{"uninstall", "delete"},
		Short:      "Remove a plugin",
		Long: `Remove the files of an installed plugin, and its entry from patchbay.lock. Its
settings in the configuration and its stored data stay. If the plugin is a
symbolic link, only the link is removed. On a terminal, the command asks first;
without a terminal it needs --yes.`,
		Example: `  patchbay plugin remove shout
  patchbay plugin remove kaged:notes --yes
  patchbay plugin remove shout --dry-run`,
		Annotations: exits(exit{exitOK, "the plugin was removed"}, exit{exitFailed, "the plugin cannot be removed"}, exit{exitRefused, "you said no, or the plugin is not in a plugin directory"},
			exit{exitNotFound, "no such plugin"}),
		Args:              arguments("NAME"),
		ValidArgsFunction: completeOnce(a.completePlugins),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.runPluginRemove(cmd.Context(), args[0], opts) },
	}
	cmd.Flags().BoolVarP(&opts.yes, "yes", "y", false, "do not ask first")
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "show what would be removed, and remove nothing")
	return cmd
}

func (a *app) runPluginRemove(ctx context.Context, name string, opts removeOptions) error {
	o, err := a.sourceOptions()
	if err != nil {
		return err
	}
	p, err := a.findInstalled(ctx, name)
	if err != nil {
		return err
	}
	if err := a.confirmIrreversible(ctx, fmt.Sprintf("remove the %s plugin %s, %s?", p.Dialect, p.Place, a.place(p.Path)), opts.yes || opts.dryRun); err != nil {
		return err
	}
	if err := plugininstall.Sweep(o); err != nil {
		a.logger().Warn("cannot remove the files that a killed installation has left", "err", err)
	}
	removed, err := plugininstall.Remove(o, p.Dialect, p.Place, p.Path, opts.dryRun)
	if err != nil {
		return installProblem(ctx, err)
	}
	if !opts.dryRun {
		err = a.tellDaemon(ctx)
	}
	if cleanErr := removed.Clean(); cleanErr != nil {
		a.logger().Warn("cannot delete the files of the removed plugin", "err", cleanErr)
	}
	if a.flags.json {
		return firstError(a.printJSON(removed), err)
	}
	verb := "removed"
	if opts.dryRun {
		verb = "would be removed"
	}
	a.printf("%s %s: %s\n", a.screen().Paint(render.StyleBold, removed.Name), verb, a.place(removed.Path))
	return err
}

// findInstalled returns the plugin with a name, without starting any.
func (a *app) findInstalled(ctx context.Context, name string) (p pluginhost.Sighted, err error) {
	var known []string
	o := a.options(func(c pluginhost.Candidate) bool {
		known = append(known, c.Name)
		return true
	})
	o.NoStart = true
	err = a.withOptions(ctx, o, func(host *pluginhost.Host) error {
		if !hasPlugin(host, name) {
			return noPlugin(host, name, known)
		}
		p, err = host.Sighted(name)
		return err
	})
	return p, err
}
