package cli

import "github.com/spf13/cobra"

func newPluginCommand(a *app) *cobra.Command {
	return newGroupCommand("plugin", "Write, install, list, inspect, test, enable and disable plugins",
		newPluginNewCommand(a),
		newPluginListCommand(a), newPluginInfoCommand(a), newPluginKnobCommand(a), newPluginValidateCommand(a),
		newPluginConformCommand(a), newPluginDevCommand(a), newPluginTrustCommand(a),
		newPluginInstallCommand(a), newPluginRemoveCommand(a), newPluginUpdateCommand(a), newPluginEnableCommand(a), newPluginDisableCommand(a),
		newPluginLogsCommand(a))
}
