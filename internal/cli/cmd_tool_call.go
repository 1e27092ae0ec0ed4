package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

type toolCallOptions struct {
	args string
}

func newToolCallCommand(a *app) *cobra.Command {
	var opts toolCallOptions
	cmd := &cobra.Command{
		Use:   "call NAME [ARGUMENT=VALUE…]",
		Short: "Call a tool by its name",
		Long: `Call one tool and print its result. Only the plugins that could have the tool
are started. The last part of a tool's name, after a _ or a dot, is enough if
only one tool ends with it.

Write each argument as ARGUMENT=VALUE, or all of them as a JSON object with
--args: the JSON itself, @FILE to read it from a file, or - to read it from
stdin. ARGUMENT=VALUE replaces an argument of --args. Arguments are checked
against the tool's schema before the call.`,
		Example: `  patchbay tool call log count=3
  patchbay tool call plugin_git_log --args '{"count":3}'
  patchbay tool call plugin_git_log --args @args.json
  echo '{"count":3}' | patchbay tool call plugin_git_log --args - --json`,
		Annotations: exits(exit{exitOK, "the tool succeeded"},
			exit{exitFailed, "the tool failed, timed out or crashed"},
			exit{exitUsage, "usage error, or the arguments do not fit the tool's schema"}, exit{exitNotFound, "no such tool"}),
		Args:              toolCallArgs,
		ValidArgsFunction: completeOnce(a.completeTools),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runToolCall(cmd.Context(), args[0], args[1:], &opts)
		},
	}
	cmd.Flags().StringVar(&opts.args, "args", "", "the arguments as a JSON object; @FILE reads it from a file, - from stdin (default {})")
	nameValue(cmd, "args", "JSON|@FILE|-")
	return cmd
}

func toolCallArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage("usage: "+cmd.UseLine(), "%s: missing NAME", cmd.CommandPath())
	}
	for _, pair := range args[1:] {
		if !strings.Contains(pair, "=") {
			return usage("write ARGUMENT=VALUE, or all of them as JSON with --args", "%s: %q is not ARGUMENT=VALUE", cmd.CommandPath(), pair)
		}
	}
	return nil
}

func (a *app) runToolCall(ctx context.Context, name string, pairs []string, opts *toolCallOptions) error {
	given, err := a.jsonObject(ctx, jsonFlag{"args", opts.args})
	if err != nil {
		return err
	}
	return a.withTool(ctx, name, func(host *pluginhost.Host, t pluginhost.Tool) error {
		args, err := toolArguments(t, given, pairs)
		if err == nil {
			err = checkArguments(t, args)
		}
		if err != nil {
			return err
		}
		return a.callTool(ctx, host, t.Name, args)
	})
}

// callTool calls a tool and prints the result. A call without an answer is a failed result in JSON,
// and an error in text.
func (a *app) callTool(ctx context.Context, host *pluginhost.Host, name string, args json.RawMessage) error {
	end := a.waiting("waiting for " + name)
	result, err := host.CallTool(ctx, name, args)
	end()
	if err != nil {
		if a.flags.json && ctx.Err() == nil {
			text := err.Error()
			return firstError(a.printJSON(httpapi.ToolResult{Tool: name, Error: &text}), err)
		}
		return err
	}
	if a.flags.json {
		if err := a.printJSON(daemon.ToolAnswer(result)); err != nil {
			return err
		}
	} else if result.Success {
		a.printForeign(result.Result)
	}
	if !result.Success {
		return &problem{kind: kindFailed, err: fmt.Errorf("tool %s: %s", name, result.Error), fix: host.ToolFix(name, result.Error)}
	}
	return nil
}

// noTool returns the error for a tool that does not exist, with the plugins that may have it.
func noTool(host *pluginhost.Host, name string, known []string) error {
	broken, skipped, disabled := namesOf(host, dialect.Broken), namesOf(host, dialect.Skipped), namesOf(host, dialect.Disabled)
	for _, t := range host.Tools() {
		known = append(known, t.Name)
	}
	fix := "`patchbay tool list` lists the tools"
	if near := nearTool(name, known); near != "" {
		fix = fmt.Sprintf("did you mean %s? %s", near, fix)
	}
	if len(broken) > 0 {
		fix += fmt.Sprintf("; these broken plugins may have it: %s (see `patchbay doctor`)", strings.Join(broken, ", "))
	}
	if len(skipped) > 0 {
		fix += fmt.Sprintf("; these plugins, which were left out, may have it: %s (see `patchbay doctor`)", strings.Join(skipped, ", "))
	}
	if len(disabled) > 0 {
		fix += fmt.Sprintf("; these disabled plugins may have it: %s (`patchbay plugin enable NAME`)", strings.Join(disabled, ", "))
	}
	return withFix(fmt.Errorf("tool %s: %w", name, pluginhost.ErrNotFound), fix)
}

// namesOf returns the names of the plugins in a state.
func namesOf(host *pluginhost.Host, state dialect.State) []string {
	var names []string
	for _, p := range host.Plugins() {
		if p.State == state {
			names = append(names, p.Name)
		}
	}
	return names
}

// nearTool returns the tool that was probably meant, by its whole name or by the end of it.
func nearTool(name string, known []string) string {
	if near := nearest.Word(name, known); near != "" {
		return near
	}
	var ends []string
	whole := make(map[string]string)
	for _, full := range known {
		for i, r := range full {
			if end := full[i+1:]; (r == '_' || r == '.') && end != "" {
				ends = append(ends, end)
				whole[end] = full
			}
		}
	}
	return whole[nearest.Word(name, ends)]
}

// firstError returns the first error that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
