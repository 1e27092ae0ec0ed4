package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay"
)

// foreignWord finds the first word of a command line that is none of our own
// commands, and so may be a plugin: patchbay PLUGIN COMMAND [ARG…]. It returns
// -1 where there is none.
func foreignWord(root *cobra.Command, args []string) int {
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		case word == "--":
			return -1
		case strings.HasPrefix(word, "-"):
			if takesValue(root, word) {
				i++
			}
		case word == "help" || word == "completion" || strings.HasPrefix(word, "__"): // Cobra makes these as it goes
			return -1
		case slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == word || c.HasAlias(word) }):
			return -1
		default:
			return i
		}
	}
	return -1
}

// takesValue tells a global flag whose value is the next word.
func takesValue(root *cobra.Command, word string) bool {
	f := root.PersistentFlags().Lookup(strings.TrimLeft(word, "-"))
	return f != nil && f.NoOptDefVal == ""
}

// runForeign runs a plugin's own command. What comes after the plugin's name is
// not ours: it is passed on untouched, flags and all.
func (a *app) runForeign(ctx context.Context, root *cobra.Command, args []string, at int) error {
	if err := root.ParseFlags(args[:at]); err != nil {
		return badFlag(root, err)
	}
	name, rest := args[at], args[at+1:]
	known := false
	need := func(c patchbay.Candidate) bool {
		if c.Name != name && c.Dialect+":"+c.Name != name || len(c.Commands) == 0 {
			return false
		}
		known = true
		return true
	}
	err := a.withHost(ctx, need, func(host *patchbay.Host) error {
		if !known {
			return knownCommand(root, []string{name})
		}
		return a.runPluginCommand(ctx, host, name, rest)
	})
	return err
}

func (a *app) runPluginCommand(ctx context.Context, host *patchbay.Host, name string, rest []string) error {
	p, err := host.Plugin(name)
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		return usage("its commands: "+strings.Join(p.Commands, ", "), "patchbay %s: missing COMMAND", name)
	}
	code, err := host.RunCommand(ctx, name, patchbay.Command{Name: rest[0], Args: rest[1:], Out: a.out, ErrOut: a.Err})
	if err == nil && code != 0 {
		return &programExit{code: code}
	}
	return err
}
