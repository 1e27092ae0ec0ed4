package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/rawjson"
)

type knobOptions struct {
	project bool
	unset   bool
}

func newPluginKnobCommand(a *app) *cobra.Command {
	var opts knobOptions
	cmd := &cobra.Command{
		Use:   "knob NAME [KEY [VALUE]]",
		Short: "Show or set the knobs of a plugin",
		Long: `Show the knobs of a plugin, or one of them, or set one. Knobs are the settings
that a plugin lets you change. The value is written to config.toml, or with
--project to .patchbay/config.toml of the project. Every other byte stays, and
the old file is kept beside it. A running daemon restarts the plugin between two
calls.`,
		Example: `  patchbay plugin knob notes
  patchbay plugin knob notes level 3
  patchbay plugin knob notes level 3 --project
  patchbay plugin knob notes level --unset`,
		Annotations: exits(exit{exitOK, "the knobs were shown, or the knob was set"}, exit{exitFailed, "the knob cannot have this value, or the file cannot be written"},
			exit{exitNotFound, "no such plugin or knob"}),
		Args:              knobArguments,
		ValidArgsFunction: completeOnce(a.completePlugins),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withKnobs(cmd.Context(), args[0], func(host *pluginhost.Host) error {
				return a.runPluginKnob(cmd.Context(), host, args, opts)
			})
		},
	}
	cmd.Flags().BoolVar(&opts.project, "project", false, "write .patchbay/config.toml of the project instead of your config.toml")
	cmd.Flags().BoolVar(&opts.unset, "unset", false, "remove the value from the file, so that the knob has its default")
	return cmd
}

func knobArguments(cmd *cobra.Command, args []string) error {
	fix := "usage: " + cmd.UseLine()
	switch {
	case len(args) == 0:
		return usage(fix, "%s: missing NAME", cmd.CommandPath())
	case len(args) > 3:
		return usage(fix, "%s: too many arguments: %q", cmd.CommandPath(), args[3])
	}
	return nil
}

// withKnobs finds the plugin without starting it.
func (a *app) withKnobs(ctx context.Context, name string, use func(*pluginhost.Host) error) error {
	var known []string
	o := a.options(func(c pluginhost.Candidate) bool {
		known = append(known, c.Name)
		return true
	})
	o.NoStart = true
	return a.withOptions(ctx, o, func(host *pluginhost.Host) error {
		if !hasPlugin(host, name) {
			return noPlugin(host, name, known)
		}
		return use(host)
	})
}

func (a *app) runPluginKnob(ctx context.Context, host *pluginhost.Host, args []string, opts knobOptions) error {
	p, err := host.Plugin(args[0])
	if err != nil {
		return err
	}
	if len(args) == 1 {
		if opts.unset || opts.project {
			return usage("name the knob: patchbay plugin knob NAME KEY", "plugin knob: missing KEY")
		}
		return a.showKnobs(p, p.Knobs)
	}
	i := slices.IndexFunc(p.Knobs, func(k pluginhost.Knob) bool { return k.Key == args[1] })
	if i < 0 {
		return noKnob(p, args[1])
	}
	switch {
	case len(args) == 3 && opts.unset:
		return usage("leave out the value, or --unset", "plugin knob: VALUE and --unset cannot be used together")
	case len(args) == 2 && !opts.unset && opts.project:
		return usage("usage: patchbay plugin knob NAME KEY VALUE --project", "plugin knob: missing VALUE")
	case len(args) == 2 && !opts.unset:
		return a.showKnobs(p, p.Knobs[i:i+1])
	}
	setting := pluginhost.KnobSetting{Key: args[1], Project: opts.project}
	if !opts.unset {
		if setting.Value, err = knobValue(p.Knobs[i].Knob, args[2]); err != nil {
			return badKnobValue(args[0], args[1], fmt.Errorf("plugin %s: knob %s: %w", p.Name, args[1], err))
		}
	}
	return a.setKnob(ctx, host, args[0], setting)
}

func noKnob(p *pluginhost.PluginDetail, key string) error {
	var keys []string
	for _, k := range p.Knobs {
		keys = append(keys, k.Key)
	}
	if p.State == dialect.Broken && p.Error != nil {
		return withFix(fmt.Errorf("plugin %s: knob %s: %w: the plugin is broken: %s", p.Name, key, pluginhost.ErrNotFound, *p.Error),
			fmt.Sprintf("`patchbay plugin validate %s` lists everything that is wrong with it", p.Name))
	}
	if len(keys) == 0 {
		return withFix(fmt.Errorf("plugin %s: knob %s: %w: it has no knobs", p.Name, key, pluginhost.ErrNotFound),
			fmt.Sprintf("`patchbay plugin info %s` lists what it has", p.Name))
	}
	return withFix(fmt.Errorf("plugin %s: knob %s: %w", p.Name, key, pluginhost.ErrNotFound),
		suggestName(key, keys, "it has "+strings.Join(keys, ", ")))
}

// knobValue parses a value as it is typed: a text needs no quotes, and a value of an enum may be
// given by its label.
func knobValue(k dialect.Knob, text string) (json.RawMessage, error) {
	switch k.Type {
	case "range", "int_range":
		if _, err := strconv.ParseFloat(text, 64); err != nil || !json.Valid([]byte(text)) {
			return nil, fmt.Errorf("%q is not a number", text)
		}
		return json.RawMessage(text), nil
	case "boolean":
		if text != "true" && text != "false" {
			return nil, fmt.Errorf("%q is neither true nor false", text)
		}
		return json.RawMessage(text), nil
	case "enum":
		for i, v := range k.Values {
			if s, ok := rawjson.Unquote(v); ok && s == text || string(v) == text || i < len(k.Labels) && k.Labels[i] == text {
				return v, nil
			}
		}
	}
	return rawjson.String(text), nil
}

func badKnobValue(plugin, key string, err error) error {
	return &problem{kind: kindFailed, err: err, fix: fmt.Sprintf("`patchbay plugin knob %s %s` shows the allowed values", plugin, key)}
}

func (a *app) setKnob(ctx context.Context, host *pluginhost.Host, name string, s pluginhost.KnobSetting) error {
	change, err := host.SetKnob(ctx, name, s)
	if errors.Is(err, pluginhost.ErrBadValue) {
		return badKnobValue(name, s.Key, err)
	}
	if err != nil {
		return err
	}
	running := true
	if change.Changed {
		change.Restarted, err = a.reloadInDaemon(ctx, name)
		if running = !errors.Is(err, daemon.ErrNoDaemon); !running {
			err = nil
		}
	}
	if a.flags.json {
		return firstError(a.printJSON(change), err)
	}
	a.printKnobChange(change, running)
	if !s.Project && change.Knob.Source == "project" {
		a.printf("  the value is that of the project's .patchbay/config.toml; to remove it there: patchbay plugin knob %s %s --unset --project\n", name, s.Key)
	}
	return err
}

func (a *app) reloadInDaemon(ctx context.Context, name string) (bool, error) {
	dirs, err := config.Locate(dialect.Env{Vars: a.Environ}.Get, runtime.GOOS)
	if err != nil {
		return false, err
	}
	return daemon.ReloadPlugin(ctx, dirs, name)
}

func (a *app) printKnobChange(c *pluginhost.KnobChange, running bool) {
	a.printf("%s.%s = %s\n", c.Plugin, c.Knob.Key, knobText(c.Knob))
	switch {
	case !c.Changed:
		a.printf("  %s has this value already\n", a.place(c.File))
		return
	case c.Backup != "":
		a.printf("  written to %s; the old file is %s\n", a.place(c.File), a.place(c.Backup))
	default:
		a.printf("  written to %s\n", a.place(c.File))
	}
	switch {
	case c.Restarted:
		a.printf("  the daemon has restarted the plugin\n")
	case running:
		a.printf("  the daemon has not restarted the plugin: it does not run there, or runs with another config\n")
	default:
		a.printf("  no daemon is running; the plugin gets the value at its next start\n")
	}
}

// knobText returns the value of a knob, with its label if it has one.
func knobText(k pluginhost.Knob) string {
	if k.Source == "" {
		return "(not set)"
	}
	text := string(k.Value)
	if i := slices.IndexFunc(k.Values, func(v json.RawMessage) bool { return string(v) == text }); i >= 0 && i < len(k.Labels) && k.Labels[i] != strings.Trim(text, `"`) {
		text += " (" + k.Labels[i] + ")"
	}
	return text
}

func (a *app) showKnobs(p *pluginhost.PluginDetail, knobs []pluginhost.Knob) error {
	if a.flags.json {
		return a.printJSON(knobs)
	}
	if len(knobs) == 0 && p.State == dialect.Broken {
		a.printf("%s is broken, and no knobs of it can be read: `patchbay plugin validate %s` lists what is wrong\n", p.Name, p.Name)
		return nil
	}
	if len(knobs) == 0 {
		a.printf("%s has no knobs\n", p.Name)
		return nil
	}
	rows := append([][]render.Cell{render.Head("", "KNOB", "VALUE", "FROM", "ALLOWED", "LABEL")}, knobRows(knobs)...)
	return render.Table(a.out, rows, a.screen())
}

func knobRows(knobs []pluginhost.Knob) [][]render.Cell {
	var rows [][]render.Cell
	for _, k := range knobs {
		rows = append(rows, []render.Cell{{}, {Text: k.Key, Style: render.StyleBold}, {Text: knobText(k)}, {Text: orDash(k.Source)},
			{Text: orDash(allowedText(k.Knob)), Style: render.StyleDim}, {Text: k.Label, Style: render.StyleDim}})
	}
	return rows
}

// allowedText returns the values that a knob can have.
func allowedText(k dialect.Knob) string {
	switch {
	case len(k.Values) > 0:
		words := make([]string, len(k.Values))
		for i, v := range k.Values {
			words[i] = string(v)
		}
		return strings.Join(words, ", ")
	case k.Min != nil && k.Max != nil:
		return fmt.Sprintf("%v to %v", *k.Min, *k.Max)
	case k.Min != nil:
		return fmt.Sprintf("at least %v", *k.Min)
	case k.Max != nil:
		return fmt.Sprintf("at most %v", *k.Max)
	case k.MaxLength != nil:
		return fmt.Sprintf("at most %s", render.Count(*k.MaxLength, "character"))
	case len(k.Prefixes) > 0:
		return strings.Join(k.Prefixes, "…, ") + "…"
	case k.Type == "boolean":
		return "true, false"
	}
	return ""
}
