package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/render"
)

func newPluginEnableCommand(a *app) *cobra.Command {
	return a.newSwitchCommand("enable", "Enable a plugin that was disabled", true)
}

func newPluginDisableCommand(a *app) *cobra.Command {
	return a.newSwitchCommand("disable", "Keep a plugin installed, but do not start it", false)
}

// newSwitchCommand returns the command enable or disable.
func (a *app) newSwitchCommand(verb, short string, on bool) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " NAME",
		Short: short,
		Long: short + `.

The command sets enabled = ` + strconv.FormatBool(on) + ` in the table [plugins.NAME] of config.toml.
Every other byte of the file stays, and the old file is kept beside it. A
running daemon applies the change at once; running events finish first.`,
		Example: "  patchbay plugin " + verb + " git-context\n  patchbay plugin " + verb + " kaged:notes --json",
		Annotations: exits(exit{exitOK, "the plugin is " + verb + "d"}, exit{exitFailed, "the file cannot be written, or the daemon cannot reload"},
			exit{exitNotFound, "no such plugin"}),
		Args:              arguments("NAME"),
		ValidArgsFunction: completeOnce(a.completePlugins),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.runPluginSwitch(cmd.Context(), args[0], on) },
	}
}

func (a *app) runPluginSwitch(ctx context.Context, name string, on bool) error {
	var change *pluginhost.Switched
	known := []string{}
	o := a.options(func(c pluginhost.Candidate) bool {
		known = append(known, c.Name)
		return true
	})
	o.NoStart = true
	err := a.withOptions(ctx, o, func(host *pluginhost.Host) (err error) {
		if !hasPlugin(host, name) {
			return noPlugin(host, name, known)
		}
		change, err = host.Switch(name, on)
		return err
	})
	if err != nil {
		return err
	}
	if !a.flags.json {
		a.printSwitch(change)
	}
	if change.Changed {
		err = a.tellDaemon(ctx)
	}
	if a.flags.json {
		return firstError(a.printJSON(change), err)
	}
	return err
}

func (a *app) printSwitch(c *pluginhost.Switched) {
	state := "disabled"
	if c.Enabled {
		state = "enabled"
	}
	name := a.screen().Paint(render.StyleBold, c.Plugin)
	if !c.Changed {
		a.printf("%s is %s already\n", name, state)
		return
	}
	a.printf("%s is %s, in %s\n", name, state, a.place(c.File))
	if c.Backup != "" {
		a.printf("  the old file is %s\n", a.place(c.Backup))
	}
}
