package cli

import (
	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/demo"
)

func newDemoCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "demo",
		Short:   "See plugins at work, without installing anything",
		GroupID: groupMore,
		Long: `Send one turn of an agent through sample plugins of several dialects, and show
what each plugin changes at each step. Your own plugins and your configuration
are not used.`,
		Example: `  patchbay demo
  patchbay demo --json | jq -r .point`,
		Annotations: exits(exit{exitOK, "the demo ran"}, exit{exitFailed, "the demo failed on this machine"}),
		Args:        arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o := a.screen()
			return demo.Run(cmd.Context(), demo.Options{Out: a.out, Color: o.Color, Width: o.Width, JSON: a.flags.json, Logger: a.logger(), Record: a.recorder()})
		},
	}
}
