package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/render"
)

func newToolInfoCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "info NAME",
		Short: "Show what a tool does and which arguments it takes",
		Long: `Show one tool: what it does, its plugin, and every argument with its type and
whether it is required. The last part of a tool's name, after a _ or a dot, is
enough if only one tool ends with it.`,
		Example: `  patchbay tool info plugin_git_log
  patchbay tool info log --json | jq .parameters`,
		Annotations:       exits(exit{exitOK, "the tool was shown"}, exit{exitNotFound, "no such tool"}),
		Args:              arguments("NAME"),
		ValidArgsFunction: completeOnce(a.completeTools),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withTool(cmd.Context(), args[0], func(_ *pluginhost.Host, t pluginhost.Tool) error { return a.printTool(t) })
		},
	}
}

func (a *app) printTool(t pluginhost.Tool) error {
	if a.flags.json {
		return a.printJSON(t)
	}
	o := a.screen()
	a.printf("%s  %s\n", o.Paint(render.StyleBold, t.Name), o.Paint(render.StyleDim, t.Plugin+" ("+t.Dialect+")"))
	if t.Description != "" {
		a.printf("%s\n", render.Block(t.Description))
	}
	a.printSection("arguments", argumentRows(t.Parameters))
	a.printf("\n%s\n", render.Line("patchbay tool call "+t.Name+usageOf(t.Parameters)))
	return nil
}

// parameter is one argument of a tool, as far as its schema has the usual form.
type parameter struct {
	name        string
	required    bool
	Type        json.RawMessage `json:"type"` // a name, or a list of names
	Description string          `json:"description"`
}

// parameters lists the required arguments in their order, then the others.
func parameters(schema json.RawMessage) []parameter {
	var object struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(schema, &object); err != nil {
		return nil // a schema of another form has no arguments to list
	}
	names := slices.Clone(object.Required)
	for _, name := range slices.Sorted(maps.Keys(object.Properties)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	out := make([]parameter, len(names))
	for i, name := range names {
		_ = json.Unmarshal(object.Properties[name], &out[i]) // the schema of an argument may be just true, which has no fields
		out[i].name, out[i].required = name, i < len(object.Required)
	}
	return out
}

func (p *parameter) kind() string {
	var one string
	var many []string
	if json.Unmarshal(p.Type, &one) == nil && one != "" {
		return one
	}
	if json.Unmarshal(p.Type, &many) == nil && len(many) > 0 {
		return strings.Join(many, " or ")
	}
	return "anything"
}

func argumentRows(schema json.RawMessage) [][]render.Cell {
	var rows [][]render.Cell
	for _, p := range parameters(schema) {
		must := "optional"
		if p.required {
			must = "required"
		}
		rows = append(rows, []render.Cell{{}, {Text: p.name}, {Text: p.kind(), Style: render.StyleCyan}, {Text: must},
			{Text: p.Description, Style: render.StyleDim}})
	}
	return rows
}

// usageOf returns the required arguments as they are typed.
func usageOf(schema json.RawMessage) string {
	var b strings.Builder
	for _, p := range parameters(schema) {
		if p.required {
			fmt.Fprintf(&b, " %s=…", p.name)
		}
	}
	return b.String()
}
