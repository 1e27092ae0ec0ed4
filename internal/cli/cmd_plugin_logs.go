package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/pluginlog"
	"github.com/patchbay-dev/patchbay/internal/render"
)

type logOptions struct {
	follow bool
	lines  int
}

func newPluginLogsCommand(a *app) *cobra.Command {
	opts := logOptions{}
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "Show what a plugin has written to stderr",
		Long: `Show what a plugin has written to stderr, and what Patchbay has logged about it.
All your commands and daemons write to this log. The log is a file in the state
directory. It keeps one to two megabytes of the newest lines. Values of
secrets.toml are removed from it. With -f, wait for more until you press Ctrl-C.
The plugin is not started.`,
		Example: `  patchbay plugin logs shout
  patchbay plugin logs shout -f
  patchbay plugin logs shout --lines 20 --json`,
		Annotations:       exits(exit{exitOK, "the log was shown, or Ctrl-C ended -f"}, exit{exitFailed, "the file cannot be read"}, exit{exitNotFound, "no such plugin"}),
		Args:              arguments("NAME"),
		ValidArgsFunction: completeOnce(a.completePlugins),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.runPluginLogs(cmd.Context(), args[0], opts) },
	}
	cmd.Flags().BoolVarP(&opts.follow, "follow", "f", false, "keep printing new lines until Ctrl-C")
	cmd.Flags().IntVarP(&opts.lines, "lines", "n", 200, "show the last `N` lines")
	return cmd
}

// pluginLogs is the result of plugin logs in JSON.
type pluginLogs struct {
	Plugin  string           `json:"plugin"`
	Dialect string           `json:"dialect"`
	File    string           `json:"file"`
	Lines   []pluginlog.Line `json:"lines"`
	Note    string           `json:"note"` // why there are no lines
}

func (a *app) runPluginLogs(ctx context.Context, name string, opts logOptions) error {
	if opts.lines < 0 {
		return usage("write a number that is not negative", "--lines %d is negative", opts.lines)
	}
	if opts.lines == 0 && !opts.follow {
		return usage("leave it out to see the last 200 lines, or add --follow", "--lines 0 shows nothing")
	}
	p, err := a.findInstalled(ctx, name)
	if err != nil {
		return err
	}
	store := a.pluginLog()
	if store == nil {
		return config.ErrNoHome
	}
	lines, follower, err := store.Follow(p.Dialect, p.Logged, opts.lines)
	if err != nil {
		return &problem{kind: kindFailed, err: err}
	}
	shown := pluginLogs{Plugin: p.Name, Dialect: p.Dialect, File: store.File(p.Dialect, p.Logged), Lines: append([]pluginlog.Line{}, lines...)}
	if len(lines) == 0 && opts.lines > 0 {
		shown.Note = a.emptyLog(p, shown.File)
	}
	if err := a.showPluginLogs(shown, opts.follow); err != nil || !opts.follow {
		return err
	}
	return a.followLogs(ctx, follower)
}

// emptyLog returns why the log is empty.
func (a *app) emptyLog(p pluginhost.Sighted, file string) string {
	return fmt.Sprintf("%s has written nothing to stderr yet, and Patchbay has logged nothing about it; the log will be %s", p.Name, a.place(file))
}

func (a *app) showPluginLogs(l pluginLogs, follow bool) error {
	switch {
	case a.flags.json && follow: // one object for each line, like the lines that follow
		for _, line := range l.Lines {
			if err := a.printJSON(line); err != nil {
				return err
			}
		}
		return nil
	case a.flags.json:
		return a.printJSON(l)
	case l.Note != "":
		a.sayf("%s\n", render.Line(l.Note))
	}
	for _, line := range l.Lines {
		a.printLogLine(line)
	}
	return nil
}

func (a *app) printLogLine(l pluginlog.Line) {
	o := a.screen()
	style := render.StylePlain
	switch l.Level {
	case "warning":
		style = render.StyleYellow
	case "error":
		style = render.StyleRed
	}
	word := ""
	if l.Level != "stderr" {
		word = l.Level + ": "
	}
	line := o.Paint(render.StyleDim, l.Time.Local().Format(time.DateTime)) + " " + o.Paint(style, word+l.Text)
	a.printf("%s\n", render.Wrap(line, o.Width, "  "))
}

// followLogs prints new lines until ctx ends, which is not a failure.
func (a *app) followLogs(ctx context.Context, f *pluginlog.Follower) error {
	for {
		lines, err := f.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return &problem{kind: kindFailed, err: err}
		}
		for _, l := range lines {
			if !a.flags.json {
				a.printLogLine(l)
			} else if err := a.printJSON(l); err != nil {
				return err
			}
		}
		if a.out.err != nil {
			return errors.Join(a.out.err)
		}
	}
}
