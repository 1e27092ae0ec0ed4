package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay"
	"github.com/patchbay-dev/patchbay/dialect"
)

type toolCallOptions struct {
	args string
}

func newToolCallCommand(a *app) *cobra.Command {
	var opts toolCallOptions
	cmd := &cobra.Command{
		Use:   "call NAME",
		Short: "Call a tool by its name",
		Long: `Call one tool and print its result. Only plugins that may have the tool are
started. The arguments are a JSON object: written out, read from a file with
@FILE, or from stdin with -.`,
		Example: `  patchbay tool call plugin_git_log --args '{"count":3}'
  patchbay tool call plugin_git_log --args @args.json
  echo '{"count":3}' | patchbay tool call plugin_git_log --args - --json`,
		Annotations: exits(exit{exitOK, "the tool succeeded"},
			exit{exitFailed, "the tool failed, timed out or crashed"}, exit{exitNotFound, "no such tool"}),
		Args:              arguments("NAME"),
		ValidArgsFunction: completeOnce(a.completeTools),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runToolCall(cmd.Context(), args[0], &opts)
		},
	}
	cmd.Flags().StringVar(&opts.args, "args", "", "the arguments: JSON, @FILE, or - for stdin")
	return cmd
}

// toolCallJSON is a call's result, as other programs see it.
type toolCallJSON struct {
	Tool    string  `json:"tool"`
	Success bool    `json:"success"`
	Result  string  `json:"result"`
	Error   *string `json:"error"` // null where it succeeded
}

func (a *app) runToolCall(ctx context.Context, name string, opts *toolCallOptions) error {
	args, err := a.jsonObject(ctx, jsonFlag{"args", opts.args})
	if err != nil {
		return err
	}
	var passed []string
	return a.withHost(ctx, needTool(name, &passed), func(host *patchbay.Host) error {
		if !slices.ContainsFunc(host.Tools(), func(t patchbay.Tool) bool { return t.Name == name }) {
			return noTool(host, name, passed)
		}
		return a.callTool(ctx, host, name, args)
	})
}

// callTool prints what the call came to. A call that had no answer is a failed
// one to other programs, and an error to a person.
func (a *app) callTool(ctx context.Context, host *patchbay.Host, name string, args json.RawMessage) error {
	result, err := host.CallTool(ctx, name, args)
	if err != nil {
		if a.flags.json && ctx.Err() == nil {
			text := err.Error()
			return firstError(a.printJSON(toolCallJSON{Tool: name, Error: &text}), err)
		}
		return err
	}
	if a.flags.json {
		out := toolCallJSON{Tool: name, Success: result.Success, Result: result.Result}
		if !result.Success {
			out.Error = &result.Error
		}
		if err := a.printJSON(out); err != nil {
			return err
		}
	} else if result.Success {
		a.printForeign(result.Result)
	}
	if !result.Success {
		return &problem{kind: kindFailed, err: fmt.Errorf("tool %s: %s", name, result.Error)}
	}
	return nil
}

// noTool says that a tool is not there, and who might have had it.
func noTool(host *patchbay.Host, name string, known []string) error {
	var broken []string
	for _, p := range host.Plugins() {
		if p.State == dialect.Broken {
			broken = append(broken, p.Name)
		}
	}
	for _, t := range host.Tools() {
		known = append(known, t.Name)
	}
	fix := meant(name, known, "`patchbay tool list` lists the tools there are")
	if len(broken) > 0 {
		fix += fmt.Sprintf("; these plugins are broken and may have it: %s (see `patchbay doctor`)", strings.Join(broken, ", "))
	}
	return withFix(fmt.Errorf("tool %s: %w", name, patchbay.ErrNotFound), fix)
}

// firstError is the first that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
