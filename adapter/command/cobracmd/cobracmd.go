// Package cobracmd gives a Cobra program the four command stages of Patchbay:
//
//	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
//	host, err := patchbay.Open(ctx, &patchbay.Options{Logger: log})
//	...
//	defer host.Close()
//	err = cobracmd.Execute(ctx, root, os.Args[1:], host)
//
// A command is named by its path without the program, with dots: "todo.add". What it prints with
// cmd.OutOrStdout, or the value it hands to [SetResult], is its result, which plugins may transform
// before it is shown.
//
//	Execute
//	  command.validate   the arguments as typed, before Cobra parses them, and the flags among them
//	  cobra              parses flags, checks arguments, finds the command
//	    wrapped RunE
//	      command.before arguments and flags as parsed; changed ones are set
//	      the command's own RunE, its output captured where a plugin wants it
//	      command.after  the result
//	  command.done       everybody is told
package cobracmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/adapter/command"
)

// Execute runs a Cobra program's command line through the plugins of host. A command whose plugin
// refuses it, or cannot be asked, is an error, told in Cobra's way. What plugins did wrong that
// ends nothing is told to the host's logger alone: give it one.
func Execute(ctx context.Context, root *cobra.Command, args []string, host command.Host) error {
	target, rest, err := root.Find(args)
	if err != nil || !target.Runnable() || passedOver(target) {
		root.SetArgs(args)
		return root.ExecuteContext(ctx) // Cobra's own errors, help and completion
	}
	r := &run{root: root, target: target, path: args[:len(args)-len(rest)], typed: typedFlags(target, rest), results: new(results)}
	p := &command.Pipeline{Host: host}
	err = p.Run(ctx, command.Command{Name: name(target), Args: rest, Flags: r.typed}, r)
	if err != nil && !r.parsed && !root.SilenceErrors && !target.SilenceErrors {
		root.PrintErrln(root.ErrPrefix(), err.Error()) // Cobra was not asked yet, and has said nothing
	}
	return err
}

// passedOver are the commands Cobra makes itself.
func passedOver(c *cobra.Command) bool {
	for ; c != nil; c = c.Parent() {
		if c.Name() == "help" || c.Name() == "completion" || strings.HasPrefix(c.Name(), "__") {
			return true
		}
	}
	return false
}

// name is a command's path without the program, with dots.
func name(c *cobra.Command) string {
	_, path, found := strings.Cut(c.CommandPath(), " ")
	if !found {
		return c.Name()
	}
	return strings.ReplaceAll(path, " ", ".")
}

// results is where a command's own value waits for the pipeline.
type results struct{ value json.RawMessage }

type resultsKey struct{}

// SetResult hands a command's own value to the plugins after it, in the place of what it prints.
func SetResult(cmd *cobra.Command, value any) error {
	r, ok := cmd.Context().Value(resultsKey{}).(*results)
	if !ok {
		return nil // not run by Execute: nobody asks for it
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("%s: result: %w", cmd.CommandPath(), err)
	}
	r.value = raw
	return nil
}

// A run is one command line under way.
type run struct {
	root    *cobra.Command
	target  *cobra.Command
	path    []string          // the words that name the command
	typed   map[string]string // the flags on the command line
	results *results
	parsed  bool // Cobra was asked, and tells errors itself
}

// Parse lets Cobra parse the arguments as plugins left them, and calls then in the place of the
// command's own function.
func (r *run) Parse(ctx context.Context, c command.Command, then func(context.Context, command.Command) error) error {
	r.parsed = true
	own := r.target.RunE
	if plain := r.target.Run; own == nil && plain != nil {
		own = func(cmd *cobra.Command, args []string) error { plain(cmd, args); return nil }
	}
	known, others := newFlags(r.target, r.typed, c.Flags)
	r.target.RunE = func(cmd *cobra.Command, args []string) error {
		r.target.RunE = own
		if err := setFlags(cmd, known); err != nil { // over those that were typed
			return err
		}
		flags := changedFlags(cmd)
		maps.Copy(flags, others)
		return then(cmd.Context(), command.Command{Name: c.Name, Args: args, Flags: flags})
	}
	r.root.SetArgs(slices.Concat(r.path, asWords(known), c.Args))
	return r.root.ExecuteContext(context.WithValue(ctx, resultsKey{}, r.results))
}

// Execute runs the command's own function with what plugins made of it.
func (r *run) Execute(_ context.Context, c command.Command, capture bool) (json.RawMessage, error) {
	if err := setFlags(r.target, c.Flags); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if capture {
		out := r.target.OutOrStdout()
		r.target.SetOut(&text)
		defer r.target.SetOut(out)
	}
	if err := r.target.RunE(r.target, c.Args); err != nil {
		return nil, err
	}
	if r.results.value != nil || !capture {
		return r.results.value, nil
	}
	return json.Marshal(text.String())
}

// Show prints a result. A string is printed as it is.
func (r *run) Show(c command.Command) error {
	if len(c.Result) == 0 || string(c.Result) == "null" {
		return nil
	}
	var text string
	if err := json.Unmarshal(c.Result, &text); err != nil {
		text = string(c.Result) + "\n"
	}
	_, err := io.WriteString(r.target.OutOrStdout(), text)
	return err
}
