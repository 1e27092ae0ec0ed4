package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"charm.land/fang/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/patchbay-dev/patchbay/internal/render"
)

// exitKey is the annotation that holds the EXIT STATUS section of a command.
const exitKey = "exit status"

// An exit is one line of an EXIT STATUS section.
type exit struct {
	code    int
	meaning string
}

// never removes one of the codes of all commands from the EXIT STATUS section of a command.
func never(code int) exit { return exit{code, ""} }

// exits returns the EXIT STATUS section: the codes of the command, and those of all commands.
func exits(own ...exit) map[string]string {
	all := own
	for _, e := range []exit{
		{exitFailed, "the command failed"}, {exitUsage, "usage error"}, {exitConfig, "the configuration has an error, and the command needs it"}, {exitInterrupted, "interrupted"},
	} {
		if !slices.ContainsFunc(own, func(o exit) bool { return o.code == e.code }) { // the text of the command wins
			all = append(all, e)
		}
	}
	all = slices.DeleteFunc(all, func(e exit) bool { return e.meaning == "" })
	slices.SortFunc(all, func(a, b exit) int { return cmp.Compare(a.code, b.code) })
	var b strings.Builder
	for _, e := range all {
		fmt.Fprintf(&b, "  %3d  %s\n", e.code, e.meaning)
	}
	return map[string]string{exitKey: b.String()}
}

// valueKey annotates a flag with the word that stands for its value.
const valueKey = "value"

// nameValue sets the word that stands for the value of a flag in the help. pflag takes this word
// from the usage of the flag, which must then contain it; a word such as N|all reads badly there.
func nameValue(cmd *cobra.Command, flag, word string) {
	if err := cmd.Flags().SetAnnotation(flag, valueKey, []string{word}); err != nil {
		panic(err) // there is no such flag
	}
}

// flagValue returns the word that stands for the value of a flag, and the usage of the flag.
func flagValue(f *pflag.Flag) (word, usage string) {
	if set := f.Annotations[valueKey]; len(set) == 1 {
		return set[0], f.Usage
	}
	return pflag.UnquoteUsage(f)
}

// help writes the help of a command: styled on a terminal with colours, else plain.
func (a *app) help(cmd *cobra.Command, _ []string) {
	if a.screen().Color && a.styledHelp(cmd) == nil {
		a.writeSection("examples", fitExamples(cmd.Example, a.screen().Width-2))
	} else {
		a.plainHelp(cmd)
	}
	a.writeSection("flags", a.flagLines(cmd.LocalNonPersistentFlags()))
	a.writeSection("global flags", a.flagLines(globalFlagsOf(cmd)))
	a.writeSection("exit status", wrapHanging(strings.TrimSuffix(cmd.Annotations[exitKey], "\n"), a.screen().Width-2, len("  130  ")))
}

// styledHelp makes fang draw the help without examples, flags and exit codes. Fang gets its own
// tree of commands with only the help flag, so errors, exit codes and output stay ours. It also
// gets the terminal itself, to ask for its colours.
func (a *app) styledHelp(cmd *cobra.Command) error {
	fresh := *a
	root := newRootCommand(&fresh)
	root.SetOut(a.Out)
	words := strings.Fields(cmd.CommandPath())[1:]
	addCompletion(root)
	if target, _, err := root.Find(words); err == nil {
		reflow(target, a.screen().Width)
	}
	root.SetArgs(append(words, "--help"))
	return fang.Execute(context.Background(), root,
		fang.WithoutManpage(), fang.WithoutVersion(), fang.WithColorSchemeFunc(fang.AnsiColorScheme),
		fang.WithErrorHandler(func(io.Writer, fang.Styles, error) {}))
}

// writeSection writes a section of the help, with the indent that fang uses on a screen.
func (a *app) writeSection(title, text string) {
	switch {
	case text == "":
	case a.screen().Color:
		a.printf("  %s\n\n  %s\n\n", a.screen().Paint(fangTitle, strings.ToUpper(title)), indentRest(text, "  "))
	default:
		a.printf("%s\n%s\n\n", strings.ToUpper(title), text)
	}
}

// fangTitle is the style of headings in fang's ANSI colours: bold and blue.
const fangTitle render.Style = "1;34"

// plainHelp writes the help for pipes, files and terminals without colours.
func (a *app) plainHelp(cmd *cobra.Command) {
	width, text := a.screen().Width, cmp.Or(cmd.Long, cmd.Short)
	if width > 0 {
		text = render.Wrap(joinParagraphs(text), width, "")
	}
	a.printf("%s\n\n", text)
	a.writeSection("usage", "  "+useLine(cmd))
	a.writeSection("examples", fitExamples(cmd.Example, width))
	for _, g := range append(cmd.Groups(), &cobra.Group{Title: "commands"}) {
		a.writeSection(g.Title, a.rows(commandTexts(cmd, g.ID)))
	}
}

func useLine(cmd *cobra.Command) string {
	if cmd.HasAvailableSubCommands() && cmd.Use == cmd.Name() { // it only shows its help
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

// A helpText is a row of the help: the name of a command or flag with its metavariable, and its
// description with its default.
type helpText struct{ name, usage string }

func commandTexts(cmd *cobra.Command, group string) []helpText {
	var out []helpText
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.GroupID == group {
			out = append(out, helpText{c.Name(), c.Short})
		}
	}
	return out
}

// flagLines returns the rows of flags.
func (a *app) flagLines(flags *pflag.FlagSet) string { return a.rows(flagTexts(flags)) }

// rows puts names into one column and descriptions into the next. On a narrow screen the
// descriptions are below the names.
func (a *app) rows(texts []helpText) string {
	widest, width := 0, a.screen().Width
	for _, t := range texts {
		widest = max(widest, ansi.StringWidth(t.name))
	}
	if a.screen().Color {
		width -= 2 // the indent of sections
	}
	lines := make([]string, len(texts))
	for i, t := range texts {
		if a.screen().Width > 0 && width-widest-4 < 20 {
			lines[i] = "  " + t.name + "\n      " + indentRest(render.Wrap(t.usage, max(width-6, 20), ""), "      ")
			continue
		}
		lines[i] = wrapHanging(fmt.Sprintf("  %-*s  %s", widest, t.name, t.usage), width, widest+4)
	}
	return strings.Join(lines, "\n")
}

func flagTexts(flags *pflag.FlagSet) []helpText {
	var out []helpText
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "    --" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", --" + f.Name
		}
		value, usage := flagValue(f)
		if f.Name == "help" {
			usage = "show this help" // cobra's own text names the command
		}
		if f.Value.Type() != "bool" {
			name += " " + value
		}
		if hasDefault(f) {
			usage += " (default " + f.DefValue + ")"
		}
		out = append(out, helpText{name, usage})
	})
	return out
}

// hasDefault reports whether the default of a flag has to be added to its description.
func hasDefault(f *pflag.Flag) bool {
	return f.DefValue != "" && f.DefValue != "0" && f.DefValue != "false" && f.DefValue != "[]" && !strings.Contains(f.Usage, "default")
}
