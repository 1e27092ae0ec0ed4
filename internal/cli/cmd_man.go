package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/atomicfile"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/render"
)

func newManCommand(a *app) *cobra.Command {
	dir := ""
	cmd := &cobra.Command{
		Use:   "man [COMMAND…]",
		Short: "Print a manual page, or write all pages to a directory",
		Long: `Print the manual page of a command, or of patchbay itself. With --dir, write the
pages of all commands to a directory: patchbay.1, patchbay-plugin.1,
patchbay-plugin-list.1 and so on.`,
		GroupID: groupMore,
		Example: `  patchbay man plugin test | man -l -
  patchbay man --dir ~/.local/share/man/man1
  man -M ~/.local/share/man patchbay-plugin-test`,
		Annotations: exits(exit{exitOK, "the pages were printed or written"}, exit{exitFailed, "a page cannot be written"}, exit{exitNotFound, "no such command"}, never(exitConfig)),
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			if dir != "" {
				return a.writeManPages(cmd.Root(), dir, words)
			}
			page, err := commandAt(cmd.Root(), words)
			if err == nil {
				text := manPage(page)
				if a.flags.json {
					return a.printJSON(manJSON{page.CommandPath(), text})
				}
				a.printf("%s", text)
			}
			return err
		},
		ValidArgsFunction: completeCommands,
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write the pages of all commands to the directory `DIR`")
	return cmd
}

// manJSON is a manual page in JSON.
type manJSON struct {
	Command string `json:"command"`
	Page    string `json:"page"` // in the format of man
}

func newHelpCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:         "help [COMMAND…|PLUGIN]",
		Short:       "Show the help of a command",
		Long:        "Show the help of a command, or of patchbay itself, as --help does.\nFor a plugin, list its own commands.",
		GroupID:     groupMore,
		Example:     "  patchbay help\n  patchbay help plugin test",
		Annotations: exits(exit{exitOK, "the help was shown"}, exit{exitNotFound, "no such command or plugin, or the plugin has no commands"}),
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			target, err := commandAt(cmd.Root(), words)
			if err != nil && target == cmd.Root() {
				return a.helpOfPlugin(cmd.Context(), cmd.Root(), words)
			}
			if err != nil {
				return err
			}
			target.InitDefaultHelpFlag() // so that the help lists it
			return target.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, words []string, typed string) ([]string, cobra.ShellCompDirective) {
			own, _ := completeCommands(cmd, words, typed)
			plugins, _ := a.completeForeign(cmd, words, typed)
			return append(own, plugins...), cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// helpOfPlugin lists the commands of the plugin that the first word names. A second word must be
// one of them.
func (a *app) helpOfPlugin(ctx context.Context, root *cobra.Command, words []string) error {
	name, rest := words[0], words[1:]
	return a.withForeign(ctx, name, func(host *pluginhost.Host) error {
		p, err := host.Plugin(name)
		if err != nil {
			return err
		}
		if len(rest) > 0 && !slices.Contains(p.Commands, rest[0]) {
			return noPluginCommand(name, rest[0], p)
		}
		return a.printPluginCommands(name, p)
	}, func(others []string) error {
		_, err := commandAt(root, words, others...)
		return err
	})
}

// commandAt returns the command that words name. If there is none, it returns the command that the
// first words name, and an error. The error suggests a similar name, of a subcommand of that
// command or from others.
func commandAt(root *cobra.Command, words []string, others ...string) (*cobra.Command, error) {
	at, rest, err := root.Find(words)
	if err == nil && len(rest) == 0 {
		return at, nil
	}
	names := others
	for _, c := range at.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	unknown, _, _ := strings.Cut(strings.Join(rest, " "), " ")
	return at, &problem{kind: kindNotFound, err: fmt.Errorf("no such command: %q", strings.Join(words, " ")),
		fix: suggestName(unknown, names, "`"+at.CommandPath()+" --help` lists the commands")}
}

// completeCommands completes the subcommands of the words so far.
func completeCommands(cmd *cobra.Command, words []string, _ string) ([]string, cobra.ShellCompDirective) {
	at, rest, err := cmd.Root().Find(words)
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, c := range at.Commands() {
		if c.IsAvailableCommand() {
			out = append(out, c.Name()+"\t"+c.Short)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) writeManPages(root *cobra.Command, dir string, words []string) error {
	if len(words) > 0 {
		return usage("leave out COMMAND: --dir writes the pages of all commands", "patchbay man: --dir cannot be used with COMMAND: %q", words[0])
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	pages := manCommands(root)
	for _, c := range pages {
		if err := atomicfile.Write(filepath.Join(dir, manName(c)+".1"), []byte(manPage(c)), atomicfile.Options{Mode: 0o644}); err != nil {
			return err
		}
	}
	if a.flags.json {
		return a.printJSON(map[string]any{"dir": dir, "pages": len(pages)})
	}
	a.printf("%s written to %s. Try: man %s\n", render.Count(len(pages), "page"), render.Line(dir), render.Line(manFile(dir)))
	return nil
}

// manFile returns the argument of man for the first page in a directory. If the argument has a
// slash, man opens it as a file, and does not search for a page of that name.
func manFile(dir string) string {
	file := filepath.Join(dir, "patchbay.1")
	if !strings.ContainsRune(file, filepath.Separator) {
		return "." + string(filepath.Separator) + file
	}
	return file
}

// manCommands returns the commands that have a page: a command and all listed ones below it.
func manCommands(c *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			out = append(out, manCommands(sub)...)
		}
	}
	return out
}

// manName returns the name of a page: the words of the command, joined by hyphens.
func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manSeeAlso returns the pages of the command above and of the commands below.
func manSeeAlso(c *cobra.Command) string {
	var pages []string
	if c.HasParent() {
		pages = append(pages, manName(c.Parent()))
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			pages = append(pages, manName(sub))
		}
	}
	for i, p := range pages {
		pages[i] = fmt.Sprintf("\\fB%s\\fR(1)", roffText(p))
	}
	return strings.Join(pages, ",\n")
}
