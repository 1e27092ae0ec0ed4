package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

func newPluginListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List your plugins and their states",
		Long: `List every plugin in the plugin directories of all dialects, and the MCP servers
of the configuration. Each enabled plugin is started and asked what it offers.
Plugins that do not work are listed too, with the reason.`,
		Example: `  patchbay plugin list
  patchbay plugin list --dialect scaffold
  patchbay plugin list --json | jq -r '.[] | select(.state == "broken") | .error'`,
		Annotations: exits(exit{exitOK, "the plugins were listed, broken ones too"}),
		Args:        arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.reportsPlugins = true
			return a.withHost(cmd.Context(), nil, a.runPluginList)
		},
	}
}

func (a *app) runPluginList(host *pluginhost.Host) error {
	plugins := host.Plugins()
	switch {
	case a.flags.json:
		return a.printJSON(plugins)
	case len(plugins) == 0:
		if err := a.printNoPlugins(); err != nil {
			return err
		}
	default:
		if err := render.Table(a.out, pluginRows(plugins), a.screen()); err != nil {
			return err
		}
	}
	all := host.Doctor()
	shown := findingsForList(all, plugins)
	a.printFindings(shown)
	if n := len(findingsOf(all, pluginhost.SeverityWarning)) - len(findingsOf(shown, pluginhost.SeverityWarning)); n > 0 {
		a.printf("\n%s: patchbay doctor\n", render.Count(n, "warning"))
	}
	return nil
}

// findingsForList returns the findings for a list of plugins: plugins that do not work, plugins
// that are skipped, plugins that differ from what was recorded, and files that look like plugins
// but cannot be used, such as a script that is not executable.
func findingsForList(all []pluginhost.Finding, plugins []pluginhost.PluginInfo) []pluginhost.Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f pluginhost.Finding) bool {
		noPlugin := f.Plugin == "" && f.Dialect != ""
		skipped := slices.ContainsFunc(plugins, func(p pluginhost.PluginInfo) bool {
			return p.State == dialect.Skipped && p.Path == f.Where
		})
		return f.Severity != pluginhost.SeverityError && !noPlugin && !skipped && !strings.Contains(f.Fix, "patchbay plugin trust")
	})
}

func pluginRows(plugins []pluginhost.PluginInfo) [][]render.Cell {
	rows := [][]render.Cell{render.Head("NAME", "DIALECT", "STATE", "VERSION", "OFFERS", "DESCRIPTION")}
	for _, p := range plugins {
		rows = append(rows, []render.Cell{
			{Text: p.Name, Style: render.StyleBold},
			{Text: p.Dialect},
			stateCell(p),
			{Text: orDash(p.Version)},
			{Text: orDash(offers(p))},
			{Text: p.Description, Style: render.StyleDim},
		})
	}
	return rows
}

// stateCell returns the state of a plugin. It adds whether the plugin differs from what was
// recorded.
func stateCell(p pluginhost.PluginInfo) render.Cell {
	c := render.Cell{Text: string(p.State), Style: stateStyle(p.State)}
	if p.Trust == trust.Changed || p.Trust == trust.Unreadable {
		c.Text, c.Style = c.Text+", "+string(p.Trust), render.StyleYellow
	}
	return c
}

// offers counts what a plugin has: "2 hooks, 1 tool".
func offers(p pluginhost.PluginInfo) string {
	var parts []string
	for _, c := range []struct {
		n    int
		noun string
	}{
		{max(p.HookCount, len(p.Hooks)), "hook"}, {len(p.Tools), "tool"}, {len(p.Commands), "command"}, {len(p.Methods), "method"}, {len(p.Kinds), "kind"},
	} {
		if c.n > 0 {
			parts = append(parts, render.Count(c.n, c.noun))
		}
	}
	return strings.Join(parts, ", ")
}

func stateStyle(s dialect.State) render.Style {
	switch s {
	case dialect.Ready:
		return render.StyleGreen
	case dialect.Broken:
		return render.StyleRed
	}
	return render.StyleYellow
}

// orDash returns s, or a dash if it is empty, so that a column has no gaps.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// printNoPlugins prints that there are no plugins, and where Patchbay looked for them.
func (a *app) printNoPlugins() error {
	a.sayf("No plugins found. Patchbay looked here:\n\n")
	var rows [][]render.Cell
	folders := a.pluginFolders()
	for i, p := range folders {
		rows = append(rows, render.Cells("", p.Dialect, a.place(p.Dir), p.Form))
		if p.Dialect == job.PluginDialect && (i+1 == len(folders) || folders[i+1].Dialect != p.Dialect) {
			rows = append(rows, render.Cells("", p.Dialect, "$PATH", p.Form)) // searched after the folders
		}
	}
	if err := render.Table(a.out, rows, a.screen()); err != nil {
		return err
	}
	a.sayf("\nPut a plugin there, or see sample plugins work with: patchbay demo\n")
	return nil
}
