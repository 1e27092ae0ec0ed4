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
		Use:   "record FILE -- COMMAND [ARG…]",
		Short: "Run a patchbay command, and save its plugin traffic to a file",
		Long: `Run a patchbay command as if it were typed alone, and write down every event and every call that goes
through its plugins: what each was given, what it was sent, what it answered, what that changed. ` + "`patchbay trace replay`" + `
plays it again.

Secrets are replaced by [secret]: the values of secrets.toml, the server's token, and variables whose names say that
they are secret. What else a plugin is sent is in the file: look at it before you give it away. It is JSON, a line an
event; docs/tracing.md describes it.

FILE appears when the command is over, also where it failed or was interrupted, unless no plugin was asked anything.
Until then it is FILE.partial. A recording that is already there is replaced; any other file is not. What does not fit
into 64 MiB is left out, and that is noted.`,
		Example: `  patchbay trace record demo.trace -- demo
  patchbay trace record turn.trace -- chat -p 'count the words in notes.md'
  patchbay trace record calc.trace -- tool call plugin_calc_add a=1 b=2`,
		Annotations: exits(exit{exitOK, "the exit code of the command is passed on"}, exit{exitFailed, "the file cannot be written, or no plugin was asked anything"}),
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

// recordArgs: a file, then -- and a command.
func recordArgs(cmd *cobra.Command, args []string) error {
	fix := "usage: " + cmd.UseLine()
	switch dash := cmd.ArgsLenAtDash(); {
	case len(args) == 0 || dash == 0:
		return usage(fix, "%s: missing FILE", cmd.CommandPath())
	case dash < 0 && len(args) > 1, dash > 1:
		return usage(fix, "%s: write -- between FILE and the command", cmd.CommandPath())
	case len(args) == 1:
		return usage(fix, "%s: missing the command to record", cmd.CommandPath())
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
	return a.recorded(s, code)
}

// pluginsOfDemo says of a recording that its plugins are those of the demo.
const pluginsOfDemo = "demo"

// globalWords are the global flags of this command line, for the command that is recorded.
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

// recorded tells what was recorded, beside what the command printed, and passes its exit code on.
func (a *app) recorded(s recording.Summary, code int) error {
	switch nothing := s.Events+s.Calls+s.LeftOut == 0; {
	case nothing && code == exitOK:
		return &problem{kind: kindFailed, err: errors.New("nothing was recorded: no plugin was asked anything"),
			fix: "`patchbay plugin list` lists the plugins; record a command that asks one of them"}
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
	text := fmt.Sprintf("recorded %s and %s to %s", render.Count(s.Events, "event"), render.Count(s.Calls, "call"), s.File)
	if s.LeftOut > 0 {
		text += fmt.Sprintf("; %d more did not fit and are left out", s.LeftOut)
	}
	return text
}

func cannotRecord(err error) error {
	switch {
	case errors.Is(err, recording.ErrNotOurs):
		return &problem{kind: kindUsage, err: err, fix: "name another file, or remove this one: only a recording is overwritten"}
	case errors.Is(err, recording.ErrBusy):
		return &problem{kind: kindFailed, err: err, fix: "wait until that command is over, or name another file"}
	case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		return &problem{kind: kindFailed, err: err, fix: "name a file in a directory that is there and that you may write to"}
	}
	return err
}
