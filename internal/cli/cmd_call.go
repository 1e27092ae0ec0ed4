package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/internal/render"
)

type callOptions struct {
	params string
}

func newCallCommand(a *app) *cobra.Command {
	var opts callOptions
	cmd := &cobra.Command{
		Use:     "call PLUGIN METHOD",
		Short:   "Call one of a plugin's own JSON-RPC methods",
		GroupID: groupPlugins,
		Long: `Call a method that a plugin declares in addition to its hooks and tools, and
print its result. --params takes the parameters, a JSON object: the JSON itself,
@FILE to read it from a file, or - to read it from stdin.`,
		Example: `  patchbay call notes notes.search --params '{"query":"tea"}'
  patchbay call notes notes.search --params @query.json --json`,
		Annotations: exits(exit{exitOK, "the method answered"},
			exit{exitFailed, "the method answered with an error, timed out or crashed"}, exit{exitNotFound, "no such plugin or method"}),
		Args:              arguments("PLUGIN", "METHOD"),
		ValidArgsFunction: completeOnce(a.completePlugins),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runCall(cmd.Context(), args[0], args[1], &opts)
		},
	}
	cmd.Flags().StringVar(&opts.params, "params", "", "the parameters as a JSON object; @FILE reads it from a file, - from stdin (default {})")
	nameValue(cmd, "params", "JSON|@FILE|-")
	return cmd
}

// callJSON is the result of a method in JSON.
type callJSON struct {
	Plugin string          `json:"plugin"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  *string         `json:"error"` // null if the method answered
}

func (a *app) runCall(ctx context.Context, plugin, method string, opts *callOptions) error {
	params, err := a.jsonObject(ctx, jsonFlag{"params", opts.params})
	if err != nil {
		return err
	}
	return a.withPlugin(ctx, plugin, func(host *pluginhost.Host) error {
		if err := checkMethod(host, plugin, method); err != nil {
			return err
		}
		end := a.waiting("waiting for " + plugin)
		result, err := host.CallMethod(ctx, plugin, method, params)
		end()
		if a.flags.json && ctx.Err() == nil {
			return firstError(a.printJSON(newCallJSON(plugin, method, result, err)), err)
		}
		if err != nil {
			return err
		}
		return render.JSON(a.out, dialect.OrNull(result), a.screen())
	})
}

// checkMethod refuses a method that the plugin does not declare. The plugin's own error would say
// less.
func checkMethod(host *pluginhost.Host, plugin, method string) error {
	p, err := host.Plugin(plugin)
	if err != nil {
		return err
	}
	if p.State != dialect.Ready || slices.Contains(p.Methods, method) {
		return nil // if the plugin is not ready, the host says why
	}
	if len(p.Methods) == 0 {
		return withFix(fmt.Errorf("plugin %s: method %s: %w: it has no methods of its own", p.Name, method, pluginhost.ErrNotFound),
			fmt.Sprintf("`patchbay plugin info %s` lists what it has", program.Quote(p.Name)))
	}
	return withFix(fmt.Errorf("plugin %s: method %s: %w: it has %s", p.Name, method, pluginhost.ErrNotFound, excerpt.Of(strings.Join(p.Methods, ", "), 400)),
		suggestName(method, p.Methods, fmt.Sprintf("`patchbay plugin info %s` lists its methods", program.Quote(p.Name))))
}

func newCallJSON(plugin, method string, result json.RawMessage, err error) callJSON {
	out := callJSON{Plugin: plugin, Method: method, Result: dialect.OrNull(result)}
	if err != nil {
		text := err.Error()
		out.Error, out.Result = &text, dialect.OrNull(nil)
	}
	return out
}
