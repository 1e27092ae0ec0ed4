package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/projectfiles"
	"github.com/patchbay-dev/patchbay/internal/render"
)

type configShowOptions struct {
	modelFlags
	listen string
	set    bool
}

func newConfigShowCommand(a *app) *cobra.Command {
	var o configShowOptions
	cmd := &cobra.Command{
		Use:        "show [PREFIX]",
		SuggestFor: []string{"get", "list"},
		Short:      "Show the settings in force, and where each value comes from",
		Long: `List every setting with its value and its source: a default, a line of your
config.toml or of the project's .patchbay/config.toml, an environment variable,
or a flag. With PREFIX, list only the setting with this name, or the settings of
the table with this name. With --model, --script or --listen, the list shows the
settings that chat and serve would use if you gave them the same flags.

Secrets are never shown. The list only says that they are set, and where. This
holds for tokens, for passwords in addresses, for the headers and variables of
MCP servers, and for the values of secrets.toml.`,
		Example: `  patchbay config show
  patchbay config show model --model offline
  patchbay config show plugins.notes
  patchbay config show --set
  patchbay config show --json | jq -r '.[] | select(.source != "default").key'`,
		Annotations:       exits(exit{exitOK, "the settings were shown"}, exit{exitNotFound, "there is no setting or table PREFIX"}),
		Args:              atMostOne,
		ValidArgsFunction: completeOnce(completeSections),
		RunE:              func(_ *cobra.Command, args []string) error { return a.runConfigShow(args, o) },
	}
	o.add(cmd)
	cmd.Flags().Lookup("model").Usage = "show the settings with this model: `PROVIDER:NAME`"
	cmd.Flags().Lookup("script").Usage = "show the settings with the offline model and this `FILE` of replies"
	cmd.Flags().StringVar(&o.listen, "listen", "", "show the settings of serve with this address: `HOST:PORT`")
	cmd.Flags().BoolVar(&o.set, "set", false, "list only settings that a file, a variable or a flag sets")
	return cmd
}

func (a *app) runConfigShow(args []string, o configShowOptions) error {
	settings, err := a.settingsInForce(o)
	if err != nil {
		return err
	}
	chosen := []config.Setting{}
	for _, s := range settings {
		if (len(args) == 0 || s.Under(args[0])) && (!o.set || s.Source != config.FromDefault) {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 && len(args) > 0 && !o.set {
		return noSetting(args[0], settings)
	}
	if a.flags.json {
		return a.printJSON(chosen)
	}
	if err := a.printSettings(chosen, len(args) > 0); err != nil || len(args) > 0 {
		return err
	}
	return a.printFromProject()
}

func (a *app) settingsInForce(o configShowOptions) ([]config.Setting, error) {
	if err := a.checkPlaces(); err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"--model": o.model, "$PATCHBAY_MODEL": a.getenv("PATCHBAY_MODEL")} {
		if _, _, err := model.ParseName(value); value != "" && err != nil {
			return nil, usage("", "%s: %w", name, err)
		}
	}
	dirs, err := a.configDirs()
	if err != nil {
		return nil, err
	}
	root, err := a.projectRoot()
	if err != nil {
		return nil, err
	}
	if !projectfiles.In(dirs).ReadsConfig(root) {
		root = "" // the project's config is not in force
	}
	return config.InForce(dirs, config.Overrides{Getenv: a.getenv, Model: o.model, Script: a.path(o.script), Listen: o.listen, Project: root})
}

func noSetting(prefix string, all []config.Setting) error {
	var names []string
	for _, s := range all {
		table, _, _ := strings.Cut(s.Key, ".")
		names = append(names, s.Key, table)
	}
	return &problem{kind: kindNotFound, err: fmt.Errorf("there is no setting or table %q", prefix),
		fix: suggestName(prefix, names, "`patchbay config show` lists all settings; settings of plugins are listed only if a file sets them")}
}

// printSettings prints a table of settings. If the screen is too narrow for it, values are cut, or
// each value has its own line if all of it is wanted.
func (a *app) printSettings(settings []config.Setting, whole bool) error {
	if len(settings) == 0 {
		a.sayf("Every setting has its default.\n")
		return nil
	}
	rows := [][]render.Cell{render.Head("SETTING", "VALUE", "FROM")}
	for _, s := range settings {
		value := render.Cell{Text: settingText(s)}
		if s.Source == config.FromDefault {
			value.Style = render.StyleDim
		}
		from := render.Cell{Text: a.settingOrigin(s), Style: originStyle(s.Source), Whole: true} // it ends with the number of the line
		if a.OutTTY {
			from.Text = a.place(from.Text)
		}
		rows = append(rows, []render.Cell{{Text: s.Key, Style: render.StyleBold}, value, from})
	}
	o := a.screen()
	fits := o.Width == 0 || o.Width >= render.TableWidth(rows, maxPathWidth)
	if whole && !fits {
		for _, row := range rows[1:] {
			a.sayf("%s  %s\n  %s\n", o.Paint(row[0].Style, render.Line(row[0].Text)), o.Paint(row[2].Style, render.Line(row[2].Text)), render.Line(row[1].Text))
		}
		return nil
	}
	if err := render.Table(a.out, rows, o); err != nil || fits {
		return err
	}
	a.sayf("\nA value that ends with … was cut: `patchbay config show SETTING` shows it whole.\n")
	return nil
}

// settingText returns a value as it is written in the file, or a note in parentheses.
func settingText(s config.Setting) string {
	switch {
	case s.Secret && s.Note != "":
		return "(set; " + s.Note + ")"
	case s.Secret:
		return "(set)"
	case s.Value == nil:
		return "(" + s.Note + ")"
	}
	raw, err := encodeJSON(s.Value)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return string(raw)
}

// settingOrigin returns the file and line, the variable or the flag that sets a value. Paths of the
// project are relative to its root.
func (a *app) settingOrigin(s config.Setting) string {
	switch s.Source {
	case config.FromEnvironment:
		return "$" + s.Name
	case config.FromFlag:
		return s.Name
	case config.FromDefault:
		return "default"
	}
	file := s.File
	if root, err := a.projectRoot(); err == nil && s.Source == config.FromProject {
		if short, err := filepath.Rel(root, file); err == nil {
			file = short
		}
	}
	if s.Line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, s.Line)
}

func originStyle(s config.Source) render.Style {
	if s == config.FromDefault {
		return render.StyleDim
	}
	return render.StyleCyan
}
