package cli

import (
	"io"

	mcobra "github.com/muesli/mango-cobra"
	"github.com/muesli/roff"
	"github.com/spf13/cobra"
)

// newManCommand is for packagers; it is not listed.
func newManCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:         "man",
		Short:       "Print the manual page",
		Hidden:      true,
		Example:     `  patchbay man > patchbay.1`,
		Annotations: exits(exit{exitOK, "printed"}),
		Args:        arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			page, err := mcobra.NewManPage(1, cmd.Root())
			if err != nil {
				return err
			}
			_, err = io.WriteString(a.out, page.WithSection("Exit status", manExits).Build(roff.NewDocument()))
			return err
		},
	}
}

const manExits = `0 it worked; 1 what was asked for failed; 2 the command line makes no sense; 3 a plugin refused the event;
4 no such plugin, tool, method or point; 5 the configuration is at fault; 130 interrupted; 141 nobody read the output.`
