package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"charm.land/fang/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/patchbay-dev/patchbay/internal/render"
)

// exitKey is the annotation that holds a command's EXIT STATUS section.
const exitKey = "exit status"

// An exit is one line of an EXIT STATUS section.
type exit struct {
	code    int
	meaning string
}

// exits is the section: what is particular to the command, and what all have in common.
func exits(own ...exit) map[string]string {
	all := own
	for _, e := range []exit{
		{exitUsage, "usage error"}, {exitConfig, "the configuration has an error"}, {exitInterrupted, "interrupted"},
	} {
		if !slices.ContainsFunc(own, func(o exit) bool { return o.code == e.code }) { // the command may say it better
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b exit) int { return cmp.Compare(a.code, b.code) })
	var b strings.Builder
	for _, e := range all {
		fmt.Fprintf(&b, "  %3d  %s\n", e.code, e.meaning)
	}
	return map[string]string{exitKey: b.String()}
}

// help writes a command's help: styled where a person reads it, plain elsewhere.
func (a *app) help(cmd *cobra.Command, _ []string) {
	if a.screen().Color && a.styledHelp(cmd) == nil {
		a.writeExitStatus(cmd)
		return
	}
	a.plainHelp(cmd)
	a.writeExitStatus(cmd)
}

// styledHelp has the help drawn by fang. It gets a tree of its own and nothing but the help flag:
// errors, exit codes and output stay ours. It also gets the terminal itself, whose colours it asks
// for.
func (a *app) styledHelp(cmd *cobra.Command) error {
	fresh := *a
	root := newRootCommand(&fresh)
	root.SetOut(a.Out)
	words := strings.Fields(cmd.CommandPath())[1:]
	root.InitDefaultCompletionCmd(words...)
	if target, _, err := root.Find(words); err == nil {
		reflow(target, a.screen().Width)
	}
	root.SetArgs(append(words, "--help"))
	return fang.Execute(context.Background(), root,
		fang.WithoutManpage(), fang.WithoutVersion(), fang.WithColorSchemeFunc(fang.AnsiColorScheme),
		fang.WithErrorHandler(func(io.Writer, fang.Styles, error) {}))
}

func (a *app) writeExitStatus(cmd *cobra.Command) {
	text := cmd.Annotations[exitKey]
	if text == "" {
		return
	}
	a.printf("%s\n", a.heading("exit status"))
	if a.screen().Color {
		text = hang(text, a.screen().Width-2, len("  130  ")) // indent takes two columns
	}
	a.printf("%s", indent(text, a.screen().Color))
}

// indent moves a section to where fang puts its own.
func indent(text string, styled bool) string {
	if !styled {
		return text + "\n"
	}
	return "\n  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n\n"
}

// fangTitle is how fang's ANSI colours draw a heading: bold and blue.
const fangTitle render.Style = "1;34"

func (a *app) heading(title string) string {
	if a.screen().Color {
		return "  " + a.screen().Paint(fangTitle, strings.ToUpper(title))
	}
	return strings.ToUpper(title)
}

// plainHelp is the help for pipes, files and terminals without colours.
func (a *app) plainHelp(cmd *cobra.Command) {
	a.printf("%s\n\n", cmp.Or(cmd.Long, cmd.Short))
	a.printf("USAGE\n  %s\n\n", useLine(cmd))
	if cmd.Example != "" {
		a.printf("EXAMPLES\n%s\n\n", strings.Trim(cmd.Example, "\n"))
	}
	for _, g := range append(cmd.Groups(), &cobra.Group{Title: "commands"}) {
		a.plainSection(g.Title, commandRows(cmd, g.ID))
	}
	a.plainSection("flags", flagRows(cmd.LocalNonPersistentFlags()))
	a.plainSection("global flags", flagRows(globalFlagsOf(cmd)))
}

func useLine(cmd *cobra.Command) string {
	if cmd.HasAvailableSubCommands() && cmd.Use == cmd.Name() { // it does nothing by itself
		return cmd.CommandPath() + " COMMAND [flags]"
	}
	return cmd.UseLine()
}

func globalFlagsOf(cmd *cobra.Command) *pflag.FlagSet {
	if cmd.HasParent() {
		return cmd.InheritedFlags()
	}
	return cmd.PersistentFlags()
}

func (a *app) plainSection(title string, rows [][]render.Cell) {
	if len(rows) == 0 {
		return
	}
	a.printf("%s\n", strings.ToUpper(title))
	_ = render.Table(a.out, rows, render.Options{}) // the output keeps the error
	a.printf("\n")
}

func commandRows(cmd *cobra.Command, group string) [][]render.Cell {
	var rows [][]render.Cell
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.GroupID == group {
			rows = append(rows, render.Cells("", c.Name(), c.Short))
		}
	}
	return rows
}

func flagRows(flags *pflag.FlagSet) [][]render.Cell {
	var rows [][]render.Cell
	for _, f := range flagTexts(flags) {
		rows = append(rows, render.Cells("", f.name, f.usage))
	}
	return rows
}

// A flagText is a flag as it is shown: with its value's name, and what it does with its default.
type flagText struct{ name, usage string }

func flagTexts(flags *pflag.FlagSet) []flagText {
	var out []flagText
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "    --" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", --" + f.Name
		}
		value, usage := pflag.UnquoteUsage(f)
		if f.Value.Type() != "bool" {
			name += " " + value
		}
		if hasDefault(f) {
			usage += " (default " + f.DefValue + ")"
		}
		out = append(out, flagText{name, usage})
	})
	return out
}

// hasDefault tells whether a flag that is left out means something, and its text does not say what.
func hasDefault(f *pflag.Flag) bool {
	return f.DefValue != "" && f.DefValue != "0" && f.DefValue != "false" && f.DefValue != "[]" && !strings.Contains(f.Usage, "default")
}
