// Package cobracmd gives a Cobra program the four command stages of Patchbay:
//
//	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
//	host, err := patchbay.Open(ctx, &patchbay.Options{Logger: log})
//	...
//	defer host.Close()
//	err = cobracmd.Execute(ctx, root, os.Args[1:], host)
//
// The name of a command is its path without the program, with dots: "todo.add". Its result is what
// it prints to cmd.OutOrStdout, or the value that it passes to [SetResult]. Plugins may transform
// the result before it is shown.
//
//	Execute
//	  command.validate   arguments and flags as typed; Cobra has not parsed them yet
//	  cobra              parses flags, checks arguments, finds the command
//	    wrapped RunE
//	      command.before arguments and flags as parsed; plugins may change them
//	      the command's own RunE; its output is captured if a plugin wants it
//	      command.after  the result
//	  command.done       reports the end to plugins
package cobracmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/adapter/command"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// Execute runs the command line of a Cobra program through the plugins of host. If a plugin refuses
// the command or cannot be called, Execute returns an error and prints it as Cobra does. Failures
// of plugins that do not end the command are only logged, so give the host a logger.
func Execute(ctx context.Context, root *cobra.Command, args []string, host command.Host) error {
	target, rest, err := root.Find(args)
	if err != nil || !target.Runnable() || addedByCobra(target) {
		root.SetArgs(args)
		return root.ExecuteContext(ctx) // Cobra's own errors, help and completion
	}
	r := &run{root: root, target: target, path: pathWords(args, rest), typed: typedFlags(target, rest), results: new(results)}
	p := &command.Pipeline{Host: host, Fired: r.fired}
	err = p.Run(ctx, command.Command{Name: name(target), Args: rest, Flags: r.typed}, r)
	if err != nil && !r.parsed && !root.SilenceErrors && !target.SilenceErrors {
		root.PrintErrln(root.ErrPrefix(), err.Error()) // Cobra was not called yet, so it has not printed the error
	}
	return err
}

// pathWords returns the words of args that name the command, as they were typed. rest has the other
// words of args. Flags may come before the words that name the command, and between them.
func pathWords(args, rest []string) []string {
	var words []string
	for i := range slices.Backward(args) { // Cobra takes the first words for the name, so the last ones are in rest
		if n := len(rest); n > 0 && rest[n-1] == args[i] {
			rest = rest[:n-1]
		} else {
			words = append(words, args[i])
		}
	}
	slices.Reverse(words)
	return words
}

// addedByCobra reports whether a command is one of those that Cobra adds to the root itself, or
// below one of them.
func addedByCobra(c *cobra.Command) bool {
	for c.HasParent() && c.Parent().HasParent() {
		c = c.Parent()
	}
	return c.HasParent() && slices.Contains([]string{"help", "completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}, c.Name())
}

// name returns a command's path without the program, with dots.
func name(c *cobra.Command) string {
	_, path, found := strings.Cut(c.CommandPath(), " ")
	if !found {
		return c.Name()
	}
	return strings.ReplaceAll(path, " ", ".")
}

// results holds the value that a command has passed to [SetResult].
type results struct{ value json.RawMessage }

type resultsKey struct{}

// SetResult sets the value that plugins get as the result of a command, instead of what it prints.
func SetResult(cmd *cobra.Command, value any) error {
	r, ok := cmd.Context().Value(resultsKey{}).(*results)
	if !ok {
		return nil // not run by Execute: no plugin gets it
	}
	raw, err := rawjson.Marshal(value)
	if err != nil {
		return fmt.Errorf("%s: result: %w", cmd.CommandPath(), err)
	}
	r.value = raw
	return nil
}

// A run is one command line in progress.
type run struct {
	root    *cobra.Command
	target  *cobra.Command
	path    []string          // the words that name the command
	typed   map[string]string // the flags on the command line
	results *results
	parsed  bool   // Cobra was called, and prints errors itself
	renamer string // the hook that changed the command's name or args last; "": none did
}

// fired remembers which hook changed the command's name or args.
func (r *run) fired(out *hook.Outcome) {
	for i := range out.Steps {
		s := &out.Steps[i]
		if slices.ContainsFunc(s.Diff(), func(c hook.Change) bool { return c.Path == "/command" || strings.HasPrefix(c.Path, "/args") }) {
			r.renamer = fmt.Sprintf("plugin %s (%s) %s at %s", s.Plugin, s.Dialect, s.Hook, out.Point)
		}
	}
}

// checkName returns an error if plugins changed the command to another. Cobra would still run the
// one that was typed, and the plugins that check it may not have been called.
func (r *run) checkName(c command.Command) error {
	if c.Name == name(r.target) {
		return nil
	}
	return r.renamed(c.Name)
}

// renamed returns the error of a command that plugins changed to another.
func (r *run) renamed(other string) error {
	return fmt.Errorf("%s changed the command %s to %q, which cannot be run in its place; let it change args and flags, or refuse the command",
		cmp.Or(r.renamer, "a plugin"), name(r.target), excerpt.Of(other, 200))
}

// Parse makes Cobra parse the arguments as plugins left them. Cobra calls the function then instead
// of the command's own function.
func (r *run) Parse(ctx context.Context, c command.Command, then func(context.Context, command.Command) error) error {
	if err := r.checkName(c); err != nil {
		return err
	}
	known, others := newFlags(r.target, r.typed, c.Flags)
	words := slices.Concat(r.path, asWords(known), c.Args)
	if other, _, err := r.root.Find(words); err == nil && other != r.target { // the first of the new args is a subcommand
		return r.renamed(name(other))
	}
	r.parsed = true
	own := r.target.RunE
	if plain := r.target.Run; own == nil && plain != nil {
		own = func(cmd *cobra.Command, args []string) error { plain(cmd, args); return nil }
	}
	r.target.RunE = func(cmd *cobra.Command, args []string) error {
		r.target.RunE = own
		if err := setFlags(cmd, known); err != nil { // replaces the values that were typed
			return err
		}
		flags := changedFlags(cmd)
		maps.Copy(flags, others)
		return then(cmd.Context(), command.Command{Name: c.Name, Args: args, Flags: flags})
	}
	r.root.SetArgs(words)
	return r.root.ExecuteContext(context.WithValue(ctx, resultsKey{}, r.results))
}

// Execute runs the command's own function with the arguments and flags as plugins left them.
func (r *run) Execute(_ context.Context, c command.Command, capture bool) (json.RawMessage, error) {
	if err := r.checkName(c); err != nil {
		return nil, err
	}
	if err := setFlags(r.target, c.Flags); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if capture {
		out := r.target.OutOrStdout()
		r.target.SetOut(&text)
		defer r.target.SetOut(out)
	}
	err := r.target.RunE(r.target, c.Args)
	switch {
	case r.results.value != nil:
		return r.results.value, err
	case !capture, err != nil && text.Len() == 0:
		return nil, err
	}
	printed, encodeErr := rawjson.Marshal(text.String())
	return printed, cmp.Or(err, encodeErr)
}

// Show prints a result. A string is printed as it is.
func (r *run) Show(c command.Command) error {
	if rawjson.Missing(c.Result) {
		return nil
	}
	var text string
	if err := json.Unmarshal(c.Result, &text); err != nil {
		text = string(c.Result) + "\n"
	}
	_, err := io.WriteString(r.target.OutOrStdout(), text)
	return err
}
