package cli

import (
	"fmt"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// reservedNameWarning returns a warning for a plugin whose commands cannot be called, because its
// name is that of one of our commands.
func (a *app) reservedNameWarning(p pluginhost.PluginInfo) (message, fix string) {
	if len(p.Commands) == 0 || foreignWord(newRootCommand(a), []string{p.Name}) >= 0 {
		return "", ""
	}
	return fmt.Sprintf("its commands cannot be called by its name, because `patchbay %s` is a command of Patchbay", p.Name),
		fmt.Sprintf("rename the plugin, or write `patchbay %s:%s COMMAND`", p.Dialect, p.Name)
}

// reservedFindings returns the warnings for all plugins.
func (a *app) reservedFindings(plugins []pluginhost.PluginInfo) []pluginhost.Finding {
	var findings []pluginhost.Finding
	for _, p := range plugins {
		if message, fix := a.reservedNameWarning(p); message != "" {
			findings = append(findings, pluginhost.Finding{Severity: pluginhost.SeverityWarning, Plugin: p.Name, Dialect: p.Dialect,
				Where: p.Path, Problem: message, Fix: fix})
		}
	}
	return findings
}
