package cli

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// completionTime limits how long completion may take.
const completionTime = 2 * time.Second

// completeOnce completes the first argument, and no other.
func completeOnce(offer func(context.Context) []cobra.Completion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return offer(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
	}
}

// mustComplete completes a flag with a few words. The command must have the flag.
func mustComplete(cmd *cobra.Command, flag string, words ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the caller has added the flag
	}
}

func completePoints(context.Context) []cobra.Completion {
	var out []cobra.Completion
	for _, spec := range hook.Points() {
		out = append(out, cobra.CompletionWithDesc(string(spec.Point), spec.Doc))
	}
	return out
}

// completeSections completes the tables of the configuration.
func completeSections(context.Context) []cobra.Completion {
	var out []cobra.Completion
	for _, s := range config.Sections() {
		if name, _, _ := strings.Cut(s.Name, "."); name != "" && !slices.ContainsFunc(out, func(c cobra.Completion) bool { return strings.HasPrefix(c, name+"\t") }) {
			out = append(out, cobra.CompletionWithDesc(name, s.Doc))
		}
	}
	return out
}

// completeForeign completes plugins with commands, and after one of them its commands. It starts no
// plugin.
func (a *app) completeForeign(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	a.peek(cmd.Context(), func(c pluginhost.Candidate) bool {
		switch {
		case len(args) == 0 && len(c.Commands) > 0:
			out = append(out, cobra.CompletionWithDesc(c.Name, "commands of a "+c.Dialect+" plugin"))
		case len(args) == 1 && (args[0] == c.Name || args[0] == c.Dialect+":"+c.Name):
			out = append(out, c.Commands...)
		}
		return false
	})
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveDefault // further arguments belong to the plugin
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeDialects(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return pluginhost.Dialects(), cobra.ShellCompDirectiveNoFileComp
}

// completePlugins completes the names that are known without starting plugins.
func (a *app) completePlugins(ctx context.Context) []cobra.Completion {
	var out []cobra.Completion
	a.peek(ctx, func(c pluginhost.Candidate) bool {
		out = append(out, cobra.CompletionWithDesc(c.Name, c.Dialect))
		return false
	})
	return out
}

// completeTools starts only the plugins that do not declare their tools before they run.
func (a *app) completeTools(ctx context.Context) []cobra.Completion {
	var out []cobra.Completion
	tools := a.peek(ctx, func(c pluginhost.Candidate) bool {
		for _, t := range c.Tools {
			out = append(out, cobra.CompletionWithDesc(t, c.Name))
		}
		return !c.Known
	})
	for _, t := range tools {
		out = append(out, cobra.CompletionWithDesc(t.Name, t.Description))
	}
	return out
}

// peek opens a host for a moment, without any messages. On an error it offers nothing, because
// completion does not show errors.
func (a *app) peek(ctx context.Context, n needs) (tools []pluginhost.Tool) {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	opts := a.options(n)
	opts.Logger, opts.OnStarting, opts.OnStopping = slog.New(slog.DiscardHandler), nil, nil // the shell has the terminal
	err := a.withOptions(ctx, opts, func(host *pluginhost.Host) error {
		tools = host.Tools()
		return nil
	})
	if err != nil {
		return nil
	}
	return tools
}
