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
		Long: `Take one agent turn through sample plugins of several dialects, each step drawn
with who changed what. Your own plugins and configuration are left alone.`,
		Example: `  patchbay demo
  patchbay demo --json | jq -r .point`,
		Annotations: exits(exit{exitOK, "shown"}, exit{exitFailed, "it did not work here"}),
		Args:        arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o := a.screen()
			return demo.Run(cmd.Context(), demo.Options{Out: a.out, Color: o.Color, Width: o.Width, JSON: a.flags.json, Logger: a.logger(), Record: a.recorder()})
		},
	}
}
