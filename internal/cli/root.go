package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// The groups of the command list.
const (
	groupPlugins = "plugins"
	groupEvents  = "events"
	groupAgent   = "agent"
	groupMore    = "more"
)

// newRootCommand returns the whole tree of commands. Commands have no state outside of the tree and
// the app, so a tree can be built at any time, and more than once.
func newRootCommand(a *app) *cobra.Command {
	version := false
	root := &cobra.Command{
		Use:           "patchbay",
		Short:         "Plugins of any dialect, in any program",
		Long:          "Patchbay finds the plugins you already have, whatever protocol they speak, and lets you list, try, test and debug them.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          refuseArguments,
		RunE: func(*cobra.Command, []string) error {
			if version {
				a.printf("patchbay %s\n", pluginhost.Version)
				return nil
			}
			return a.overview()
		},

		Annotations:       exits(everyExit...),
		ValidArgsFunction: a.completeForeign,
	}
	root.AddGroup(
		&cobra.Group{ID: groupPlugins, Title: "plugins"},
		&cobra.Group{ID: groupEvents, Title: "events"},
		&cobra.Group{ID: groupAgent, Title: "the agent"},
		&cobra.Group{ID: groupMore, Title: "more"})
	root.AddCommand(
		newPluginCommand(a), newProjectCommand(a), newToolCommand(a), newCallCommand(a), newPythonCommand(a),
		newFireCommand(a), newRunCommand(a), newChatCommand(a), newApprovalsCommand(a), newJobCommand(a), newSessionCommand(a),
		newServeCommand(a), newHookCommand(a), newMCPCommand(a),
		newTraceCommand(a), newDoctorCommand(a), newConfigCommand(a), newEngineCommand(a), newDemoCommand(a), newVersionCommand(a), newManCommand(a))
	root.SetHelpCommand(newHelpCommand(a))
	root.SetCompletionCommandGroupID(groupMore)
	// Cobra's own flag would need a template: see docs/decisions/0017-what-the-linker-drops.md.
	root.Flags().BoolVar(&version, "version", false, "print the version")
	root.SetIn(a.In)
	root.SetOut(a.out)
	root.SetErr(a.Err)
	root.SetHelpFunc(a.help)
	root.SetFlagErrorFunc(badFlag)
	a.addGlobalFlags(root.PersistentFlags())
	wrapUsageErrors(root)
	if err := root.RegisterFlagCompletionFunc("dialect", a.completeDialects); err != nil {
		panic(err) // a flag that was added a line above
	}
	return root
}

func (a *app) addGlobalFlags(f *pflag.FlagSet) {
	f.SortFlags = false
	f.BoolVar(&a.flags.json, "json", false, "print the result, and errors, as JSON")
	f.BoolVarP(&a.flags.verbose, "verbose", "v", false, "show what plugins write to stderr, and debug messages")
	f.StringVar(&a.flags.config, "config", "", "read the configuration from `FILE` instead of config.toml (see patchbay config path)")
	f.StringVar(&a.flags.dir, "dir", "", "work in the directory `DIR` instead of the current one")
	f.StringArrayVar(&a.flags.dialects, "dialect", nil, "use only plugins of this `DIALECT` (may be repeated)")
}

// firstCommands lists the most useful commands.
var firstCommands = [][2]string{
	{"patchbay demo", "see it work, without installing anything"},
	{"patchbay plugin list", "the plugins you have"},
	{"patchbay plugin new", "write one, in the language you like"},
	{"patchbay tool list", "the tools they offer"},
	{"patchbay fire --list", "the points that they can hook"},
	{"patchbay chat", "an agent with your plugins around it"},
	{"patchbay job list", "agents that run on schedules"},
	{"patchbay serve", "the agent over HTTP, a web page, and the schedules"},
	{"patchbay doctor", "what is wrong, and how to fix it"},
}

// overview prints the most useful commands, for patchbay without arguments.
func (a *app) overview() error {
	o := a.screen()
	a.printf("%s %s: plugins of any dialect, in any program\n\n", o.Paint(render.StyleBold, "patchbay"), pluginhost.Version)
	rows := [][]render.Cell{}
	for _, line := range firstCommands {
		rows = append(rows, []render.Cell{{}, {Text: line[0], Style: render.StyleCyan}, {Text: line[1]}})
	}
	if err := render.Table(a.out, rows, o); err != nil {
		return err
	}
	a.sayf("\nAll commands: patchbay help. One of them: patchbay help COMMAND.\n")
	return nil
}

// refuseArguments refuses arguments to a command that only has subcommands.
func refuseArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknownCommand(cmd, args[0], nil)
}

// unknownCommand returns the error for a word that is not a subcommand of cmd. others are further
// names that the word may be, such as those of plugins with commands. The fix suggests the commands
// for which users also use this word, and the commands of this name below a subcommand. If there is
// none, it suggests a flag of this name that needs no value, or else the most similar name.
func unknownCommand(cmd *cobra.Command, word string, others []string) error {
	names, meant := others, []string{}
	mean := func(c *cobra.Command, flag string) { meant = append(meant, "`"+c.CommandPath()+flag+"`") }
	if slices.Contains(cmd.SuggestFor, word) {
		mean(cmd, "")
	}
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		names = append(names, c.Name())
		if slices.Contains(c.SuggestFor, word) {
			mean(c, "")
		}
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() && (sub.Name() == word || slices.Contains(sub.SuggestFor, word)) {
				mean(sub, "")
			}
		}
	}
	for _, c := range append([]*cobra.Command{cmd}, cmd.Commands()...) {
		if f := c.Flags().Lookup(word); len(meant) == 0 && f != nil && f.NoOptDefVal != "" { // it needs no value
			mean(c, " --"+word)
		}
	}
	fix := fmt.Sprintf("`%s --help` lists the commands", cmd.CommandPath())
	switch len(meant) {
	case 0:
		fix = suggestName(word, names, fix)
	case 1:
		fix = "did you mean " + meant[0] + "? " + fix
	default:
		fix = "did you mean one of " + strings.Join(meant, ", ") + "? " + fix
	}
	return usage(fix, "unknown command %q for %q", word, cmd.CommandPath())
}

// hasFlag reports whether a command has the flag that err reports as unknown.
func hasFlag(cmd *cobra.Command, err error) bool {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return false
	}
	name := unknown.GetSpecifiedName()
	return cmd.Flags().Lookup(name) != nil || len(name) == 1 && cmd.Flags().ShorthandLookup(name) != nil
}

// badFlag returns the error for a flag that cannot be parsed. It suggests the flag that was
// probably meant, or says which values the flag takes.
func badFlag(cmd *cobra.Command, err error) error {
	fix := fmt.Sprintf("`%s --help` lists the flags", cmd.CommandPath())
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		flag := missing.GetFlag()
		typed := "--" + flag.Name
		if missing.GetSpecifiedShortnames() != "" {
			typed = "-" + flag.Shorthand
		}
		value, _ := flagValue(flag)
		return usage(fmt.Sprintf("write %s %s; %s", typed, value, fix), "%s: the value is missing", typed)
	}
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		what, instead := wrongValue(bad)
		return usage(instead+"; "+fix, "--%s: %q %s", bad.GetFlag().Name, excerpt.Of(bad.GetValue(), 80), what)
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() != "" && strings.Contains("0123456789.", unknown.GetSpecifiedShortnames()[:1]) {
		fix = "write -- before a negative number; " + fix
	}
	if strings.Contains(cmd.Use, "-- COMMAND") {
		fix = "write -- before a COMMAND that has flags of its own; " + fix
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	word := ""
	if _, flag, ok := strings.Cut(err.Error(), "unknown flag: "); ok {
		word = flag
	}
	if chat, _, _ := cmd.Find([]string{"chat"}); !cmd.HasParent() && hasFlag(chat, err) {
		return usage(fmt.Sprintf("write it after `%s`, which has this flag; %s", chat.CommandPath(), fix), "%w", err)
	}
	return usage(suggestName(word, names, fix), "%w", err)
}

// wrongValue says what is wrong with the value of a flag, and what to write instead.
func wrongValue(bad *pflag.InvalidValueError) (what, instead string) {
	flag := bad.GetFlag()
	switch flag.Value.Type() {
	case "int":
		number := "a number"
		if unit, _ := flagValue(flag); unit != "N" {
			number += " of " + strings.ToLower(unit)
		}
		return "is not a whole number", "write " + number + ", as in --" + flag.Name + " 20"
	case "duration":
		return "is not a duration", "write a number and a unit, as in --" + flag.Name + " 90s"
	case "bool":
		return "is neither true nor false", "write --" + flag.Name + " or --" + flag.Name + "=false"
	}
	return "is not possible: " + bad.Unwrap().Error(), "write another value"
}

// arguments checks that a command line has exactly the named arguments.
func arguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		fix := "usage: " + useLine(cmd)
		switch {
		case len(args) < len(names):
			return usage(fix, "%s: missing %s", cmd.CommandPath(), names[len(args)])
		case len(args) > len(names):
			return usage(fix, "%s: too many arguments: %q", cmd.CommandPath(), args[len(names)])
		}
		return nil
	}
}

// atMostOne checks that a command line has at most one argument.
func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usage("usage: "+useLine(cmd), "%s: too many arguments: %q", cmd.CommandPath(), args[1])
	}
	return nil
}

// addCompletion adds cobra's own completion command, and makes it refuse shells that it does not
// know.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args = refuseArguments
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			wrapUsageErrors(c)
			explainShells(c)
		}
	}
}

// wrapUsageErrors turns the errors that cobra finds before a command runs into usage errors: wrong
// arguments, flags that exclude each other, and missing flags.
func wrapUsageErrors(cmd *cobra.Command) {
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := errors.Join(cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups())
		if err == nil && check != nil {
			err = check(cmd, args)
		}
		return asUsage(cmd, err)
	}
	for _, c := range cmd.Commands() {
		wrapUsageErrors(c)
	}
}

// asUsage turns an error about the command line into a usage error with a fix.
func asUsage(cmd *cobra.Command, err error) error {
	if err == nil || statedKind(err) != "" && fixOf(err) != "" {
		return err
	}
	fix := fixOf(err)
	if fix == "" {
		fix = "usage: " + useLine(cmd) + "; `" + cmd.CommandPath() + " --help` has examples"
	}
	return &problem{kind: kindUsage, err: err, fix: fix}
}

// aliases are the short names of subcommands in every group.
var aliases = map[string]string{"list": "ls", "remove": "rm", "delete": "rm"}

// newGroupCommand returns a command that only has subcommands. Without one it shows its help.
func newGroupCommand(use, short string, subcommands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:     use,
		Short:   short,
		GroupID: groupPlugins,
		Args:    refuseArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, sub := range subcommands {
		if short, ok := aliases[sub.Name()]; ok {
			sub.Aliases = append(sub.Aliases, short)
		}
	}
	cmd.AddCommand(subcommands...)
	return cmd
}
