package cli

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/render"
)

func newToolListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the tools of all plugins",
		Long: `List every tool of the plugins that are ready, under the name by which it is
called. Arguments with a question mark are optional; --json has the full
schemas.`,
		Example: `  patchbay tool list
  patchbay tool list --json | jq '.[] | {name, parameters}'`,
		Annotations: exits(exit{exitOK, "the tools were listed"}),
		Args:        arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withHost(cmd.Context(), needTools, a.runToolList)
		},
	}
}

// needTools selects the plugins with tools, and those that declare them only when they run.
func needTools(c pluginhost.Candidate) bool { return !c.Known || len(c.Tools) > 0 }

func (a *app) runToolList(host *pluginhost.Host) error {
	tools := host.Tools()
	if a.flags.json {
		return a.printJSON(tools)
	}
	if len(tools) == 0 {
		a.sayf("No plugin offers a tool. List your plugins with: patchbay plugin list\n")
		return nil
	}
	rows := [][]render.Cell{render.Head("NAME", "PLUGIN", "ARGUMENTS", "DESCRIPTION")}
	for _, t := range tools {
		rows = append(rows, []render.Cell{{Text: t.Name, Style: render.StyleBold}, {Text: t.Plugin},
			{Text: orDash(signature(t.Parameters))}, {Text: t.Description, Style: render.StyleDim}})
	}
	return render.Table(a.out, rows, a.screen())
}

// signature lists the arguments of a tool: the required ones in their order, then the others with a
// question mark. A schema of another form has none.
func signature(schema json.RawMessage) string {
	var names []string
	for _, p := range parameters(schema) {
		if !p.required {
			p.name += "?"
		}
		names = append(names, p.name)
	}
	return strings.Join(names, ", ")
}
