package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/recording"
	"github.com/patchbay-dev/patchbay/internal/render"
)

func newTraceRecordCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "record FILE -- COMMAND [ARG…]",
		DisableFlagsInUseLine: true, // flags at the end belong to COMMAND
		Short:                 "Run a patchbay command, and record its plugin traffic in a file",
		Long: `Run a patchbay command as usual, and record every event and every call that goes
through plugins. For each plugin the recording has the payload, the message that
Patchbay sent to the plugin, the plugin's answer, and what the answer changed.
` + "`patchbay trace replay`" + ` plays the recording again.

Secrets are replaced by [secret]: the values of secrets.toml and of dotagent's
secrets.env, the daemon's token ([server] token), headers and secret variables
of MCP servers, passwords in addresses, and environment variables whose names
mark them as secret. Everything else that a plugin is sent is in the file: read
it before you share it. The file is JSON, one event on each line;
docs/tracing.md describes it.

FILE appears when the command has ended, even if it failed or was interrupted,
but only if a plugin was called. Until then it is FILE.partial. An existing
recording or an empty file is replaced; any other existing file is not. Events
that do not fit into 64 MiB are left out, and the file says how many.`,
		Example: `  patchbay trace record demo.trace -- demo
  patchbay trace record turn.trace -- chat -p 'count the words in notes.md'
  patchbay trace record calc.trace -- tool call plugin_calc_add a=1 b=2`,
		Annotations: exits(exit{exitOK, "the command succeeded; any other exit code of the command is passed on"}, exit{exitFailed, "the file cannot be written, or no plugin was called"}, exit{exitRefused, "the file exists already, and is not a recording"}),
		Args:        recordArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runRecord(cmd.Context(), a.path(args[0]), args[1:])
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
	}
	return cmd
}

// recordArgs accepts a file, then -- and a command.
func recordArgs(cmd *cobra.Command, args []string) error {
	fix := "usage: " + cmd.UseLine()
	switch dash := cmd.ArgsLenAtDash(); {
	case len(args) == 0 || dash == 0:
		return usage(fix, "%s: missing FILE", cmd.CommandPath())
	case dash < 0 && len(args) > 1, dash > 1:
		return usage(fix, "%s: missing -- between FILE and COMMAND", cmd.CommandPath())
	case len(args) == 1:
		return usage(fix, "%s: missing COMMAND", cmd.CommandPath())
	}
	return nil
}

func (a *app) runRecord(ctx context.Context, path string, words []string) error {
	if filepath.Base(words[0]) == "patchbay" {
		words = words[1:]
	}
	if a.record != nil || len(words) == 0 || words[0] == "trace" {
		return usage("name another command, such as demo, chat -p, fire or tool call", "trace record: this command has no plugin traffic to record")
	}
	o := recording.Options{Command: words}
	if words[0] == "demo" {
		o.PluginsOf = pluginsOfDemo
	}
	r, err := recording.Create(path, o)
	if err != nil {
		return cannotRecord(err)
	}
	inner := &app{IO: a.IO, out: a.out, end: a.end, record: r}
	code := inner.main(ctx, append(a.globalWords(), words...))
	s, err := r.Close(ctx.Err() != nil)
	if err != nil {
		return err
	}
	if ctx.Err() != nil && s.Events+s.Calls+s.LeftOut == 0 {
		return &problem{kind: kindInterrupted, err: context.Cause(ctx)}
	}
	return a.printRecorded(s, code)
}

// pluginsOfDemo marks a recording as one of the demo's plugins.
const pluginsOfDemo = "demo"

// globalWords returns the global flags of this command line, for the recorded command.
func (a *app) globalWords() []string {
	var words []string
	if a.flags.verbose {
		words = append(words, "--verbose")
	}
	if a.flags.config != "" {
		words = append(words, "--config", a.path(a.flags.config))
	}
	if a.flags.dir != "" {
		words = append(words, "--dir", a.dir())
	}
	for _, d := range a.flags.dialects {
		words = append(words, "--dialect", d)
	}
	return slices.Clip(words)
}

// printRecorded prints what was recorded, after the output of the command, and passes on its exit
// code.
func (a *app) printRecorded(s recording.Summary, code int) error {
	switch nothing := s.Events+s.Calls+s.LeftOut == 0; {
	case nothing && code == exitOK:
		return &problem{kind: kindFailed, err: errors.New("nothing was recorded: no plugin was called"),
			fix: "`patchbay plugin list` lists the plugins; record a command that calls one of them"}
	case nothing:
	case a.flags.json:
		raw, err := encodeJSON(s)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Err, "%s\n", raw)
	default:
		fmt.Fprintf(a.Err, "%s\n", a.errScreen().Paint(render.StyleDim, recordedLine(s)))
	}
	if code != exitOK {
		return &programExit{code: code}
	}
	return nil
}

func recordedLine(s recording.Summary) string {
	what := render.Count(s.Events, "event")
	if s.Calls > 0 { // of tools and methods; the calls of hooks belong to their events
		what += " and " + render.Count(s.Calls, "call")
	}
	text := "recorded " + what + " to " + s.File
	if s.LeftOut > 0 {
		text += fmt.Sprintf("; %d more did not fit and were left out", s.LeftOut)
	}
	return text
}

func cannotRecord(err error) error {
	switch {
	case errors.Is(err, recording.ErrNotOurs):
		return &problem{kind: kindRefused, err: err, fix: "name another file, or remove this one: only recordings are overwritten"}
	case errors.Is(err, recording.ErrBusy):
		return &problem{kind: kindFailed, err: err, fix: "wait until that command ends, or name another file"}
	case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		return &problem{kind: kindFailed, err: err, fix: "name a file in an existing directory that you may write to"}
	}
	return err
}
