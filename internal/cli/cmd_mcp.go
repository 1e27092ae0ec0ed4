package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/daemon"
)

func newMCPCommand(a *app) *cobra.Command {
	var opts daemon.MCPOptions
	cmd := &cobra.Command{
		Use:     "mcp [COMMAND]",
		Short:   "Offer the tools of plugins to an MCP client on stdin and stdout",
		GroupID: groupAgent,
		Long: `Serve one MCP client on stdin and stdout, until its input ends. The client gets
the tools of all plugins, and the prompts and resources of the MCP servers that
[[mcp]] in the configuration lists. Plugins work in the project of the current
directory.

A call passes tool.before, tool.resolve and tool.after like a call of the agent,
and is stored in the journal. Clients are notified when plugins are added or
removed. The server supports all revisions of the protocol from 2024-11-05 to
2026-07-28. Logs go to stderr.

The daemon serves the tools of plugins over HTTP too, at /mcp.`,
		Example: `  patchbay mcp
  patchbay mcp --builtin
  patchbay mcp install claude`,
		Annotations: exits(exit{exitOK, "the client closed the connection, or a signal ended the server"}, never(exitInterrupted)),
		Args:        refuseArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runMCP(cmd.Context(), opts)
		},
	}
	cmd.AddCommand(newMCPInstallCommand(a))
	cmd.Flags().BoolVar(&opts.Builtin, "builtin", false, "also offer the built-in tools; [chat] approve says whether these may change things")
	cmd.Flags().BoolVar(&opts.Methods, "methods", false, "offer the methods of kaged plugins as tools")
	return cmd
}

func (a *app) runMCP(ctx context.Context, o daemon.MCPOptions) error {
	return a.withCoreOf(ctx, daemon.Options{Host: *a.options(nil), NoModel: true}, func(core *daemon.Core) error {
		server := core.MCP(o)
		defer server.Close()
		if end, err := core.AnnounceMCP(o); err != nil {
			a.logger().Warn("hooks of agents do not know of this server, so they call plugins for its tools too", "err", err)
		} else {
			defer end()
		}
		return server.Run(ctx, a.In, a.Out)
	})
}
