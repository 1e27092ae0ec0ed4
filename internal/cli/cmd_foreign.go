package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// foreignWord returns the index of the first word of a command line that is not one of our
// commands, and so may be a plugin: patchbay PLUGIN COMMAND [ARG…]. It returns -1 if there is none.
func foreignWord(root *cobra.Command, args []string) int {
	i := firstWord(root.PersistentFlags(), args)
	if i < 0 {
		return -1
	}
	word := args[i]
	switch {
	case word == "help" || word == "completion" || strings.HasPrefix(word, "__"): // Cobra adds these later
		return -1
	case slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == word || c.HasAlias(word) }):
		return -1
	}
	return i
}

// firstWord returns the index of the first word that is neither a flag nor the value of a flag, or
// -1 if there is none before "--".
func firstWord(flags *pflag.FlagSet, args []string) int {
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		switch word := args[i]; {
		case !strings.HasPrefix(word, "-"):
			return i
		case takesValue(flags, word):
			i++
		}
	}
	return -1
}

// takesValue reports whether a word is a flag whose value is the next word.
func takesValue(flags *pflag.FlagSet, word string) bool {
	f := flags.Lookup(strings.TrimLeft(word, "-"))
	return f != nil && f.NoOptDefVal == ""
}

// runForeign runs a command of a plugin. The words after the plugin's name are passed on unchanged,
// flags too.
func (a *app) runForeign(ctx context.Context, root *cobra.Command, args []string, at int) error {
	if err := root.ParseFlags(args[:at]); err != nil {
		return badFlag(root, err)
	}
	name, rest := args[at], args[at+1:]
	return a.withForeign(ctx, name, func(host *pluginhost.Host) error {
		return a.runPluginCommand(ctx, host, name, rest)
	}, func(others []string) error {
		a.flags.json = asksForJSON(args) // the words are not passed on
		return unknownCommand(root, name, others)
	})
}

// withForeign opens the plugin with this name and calls found. It returns an error if the plugin is
// broken or has no commands. If no plugin has the name, it calls unknown with the names of the
// plugins that have commands.
func (a *app) withForeign(ctx context.Context, name string, found func(*pluginhost.Host) error, unknown func(others []string) error) error {
	known, idle := false, false
	var fault error
	var others []string
	need := func(c pluginhost.Candidate) bool {
		called := c.Name == name || c.Dialect+":"+c.Name == name
		switch {
		case called && len(c.Commands) > 0:
			known = true
			return true
		case called:
			idle, fault = true, cmp.Or(fault, c.Err)
		case len(c.Commands) > 0:
			others = append(others, c.Name)
		}
		return false
	}
	return a.withHost(ctx, need, func(host *pluginhost.Host) error {
		switch {
		case known:
			return found(host)
		case fault != nil:
			return withFix(fmt.Errorf("plugin %s is broken, so its commands are unknown: %w", name, fault),
				fmt.Sprintf("`patchbay plugin validate %s` lists what is wrong", program.Quote(name)))
		case idle:
			return noCommands(name)
		}
		return unknown(others)
	})
}

// noCommands returns the error for a plugin without commands.
func noCommands(plugin string) error {
	return &problem{kind: kindNotFound, err: fmt.Errorf("plugin %s has no commands of its own", plugin),
		fix: fmt.Sprintf("`patchbay plugin info %s` lists what it has", program.Quote(plugin))}
}

// noPluginCommand returns the error for a command that a plugin, called by a name, does not have.
func noPluginCommand(name, command string, p *pluginhost.PluginDetail) error {
	return withFix(fmt.Errorf("plugin %s: command %s: %w", p.Name, command, pluginhost.ErrNotFound),
		suggestName(command, p.Commands, fmt.Sprintf("`patchbay %s` lists its commands", name)))
}

func (a *app) runPluginCommand(ctx context.Context, host *pluginhost.Host, name string, rest []string) error {
	p, err := host.Plugin(name)
	if err != nil {
		return err
	}
	if len(rest) > 0 && rest[0] == "--json" { // before the command the flag is ours
		rest = rest[1:]
	}
	if len(rest) == 0 || slices.Contains([]string{"--help", "-h"}, rest[0]) { // no command has such a name
		return a.printPluginCommands(name, p)
	}
	c := pluginhost.Command{Name: rest[0], Args: rest[1:], In: a.In, Out: a.out, ErrOut: a.Err}
	var said string
	if a.flags.json {
		c.Failed = func(message string) { said = message }
	} else if t, end := a.terminal(); t != nil {
		defer end()
		c.Terminal, ctx = t, context.WithoutCancel(ctx) // signals go to the program, which decides what they mean
	}
	if !slices.Contains(p.Commands, c.Name) {
		return noPluginCommand(name, c.Name, p)
	}
	code, err := host.RunCommand(ctx, name, c)
	switch {
	case err == nil && code != 0:
		return commandExit(p.Name, code, said)
	case errors.Is(err, hook.Crash) && code != 0: // a signal ended it
		return &programExit{code, err}
	}
	return err
}

// commandExit returns the exit of a plugin's command, with its message if we have to print it.
func commandExit(plugin string, code int, said string) error {
	exit := &programExit{code: code}
	if said != "" {
		exit.err = fmt.Errorf("plugin %s: %s", plugin, said)
	}
	return exit
}

// terminal returns the user's terminal for a program in the foreground, or nil if there is no
// terminal.
func (a *app) terminal() (t *dialect.Terminal, end func()) {
	in, out, errOut := asFile(a.In), asFile(a.Out), asFile(a.Err)
	if !a.InTTY && !a.OutTTY || in == nil || out == nil || errOut == nil {
		return nil, nil
	}
	signals, stop := a.signals()
	yielded := a.end.yield()
	return &dialect.Terminal{In: in, Out: out, ErrOut: errOut, Signals: signals}, func() { yielded(); stop() }
}

// printPluginCommands lists the commands of a plugin that was called by a name.
func (a *app) printPluginCommands(name string, p *pluginhost.PluginDetail) error {
	if a.flags.json {
		return a.printJSON(p.CommandDocs)
	}
	a.printf("%s\n\nUSAGE\n  patchbay %s COMMAND [ARG…]\n\nCOMMANDS\n", render.Block(cmp.Or(p.Description, p.Name)), render.Line(name))
	return render.Table(a.out, commandDocRows(p), a.screen())
}
