package cli

import "github.com/spf13/cobra"

func newToolCommand(a *app) *cobra.Command {
	return newGroupCommand("tool", "List and call the tools that plugins offer",
		newToolListCommand(a), newToolInfoCommand(a), newToolCallCommand(a))
}
