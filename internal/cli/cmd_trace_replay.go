package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/demo"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/recording"
	"github.com/patchbay-dev/patchbay/internal/render"
)

type replayOptions struct {
	plugin  string
	as      string
	ignore  []string
	exact   bool
	partial bool
}

func newTraceReplayCommand(a *app) *cobra.Command {
	var opts replayOptions
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Send recorded traffic to plugins again, and show what differs",
		Long: `Call the plugins again as they were called when FILE was recorded, and compare
what each was sent, what it answered, the verdict and the error. Each plugin is
called with its recorded payload, whatever the other plugins answer now. So a
difference never comes from another plugin: it comes from the plugin itself, its
configuration, or Patchbay. A plugin that is gone, or no longer has the hook, is
a difference. Plugins that are not in the recording are not called.

Without --plugin, the installed plugins are called, or the demo's plugins for a
recording of the demo. With --plugin, only the plugin at PATH is called,
installed or not. It is compared with the recorded plugin of the same name. --as
names another recorded plugin to compare it with.

Plugins are started for the replay, with empty storage that is deleted at the
end. Nothing is written to the journal, to sessions or to the stored data of
plugins. But plugins act as usual: if a plugin writes files or uses the network,
it does so again. A recording from somebody else can contain any call: read it
before you replay it with installed plugins.

How long a call took is never compared. Times, durations and generated ids in
messages (RFC 3339 times, UUIDs, ULIDs, numbers in fields such as created_at and
duration_ms) count as equal, unless you add --exact. With --ignore FIELD, fields
of this name are not compared, at any depth. With --ignore POINTER, the value at
this JSON pointer is not compared. A pointer begins with /sent, /received,
/verdict, /error, /diff or /result. In it, * stands for any one name or number
between slashes:

  --ignore etag --ignore /received/items/*/score`,
		Example: `  patchbay trace replay demo.trace
  patchbay trace replay calc.trace --plugin ./calc
  patchbay trace replay turn.trace --ignore request_id --json | jq '.differences'`,
		Annotations: exits(exit{exitOK, "nothing differs from the recording"}, exit{exitChecks, "there are differences"},
			exit{exitFailed, "the file is not a complete recording, or the plugin at PATH does not start"}, exit{exitNotFound, "there is no plugin at PATH, or the recording has no calls of it"}),
		Args:              arguments("FILE"),
		ValidArgsFunction: completeFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runReplay(cmd.Context(), args[0], &opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.plugin, "plugin", "", "call only the plugin at this `PATH`")
	f.StringVar(&opts.as, "as", "", "with --plugin: replay the recorded calls of the plugin `NAME`")
	f.StringArrayVar(&opts.ignore, "ignore", nil, "do not compare this `FIELD` or JSON pointer (may be repeated)")
	f.BoolVar(&opts.exact, "exact", false, "also compare times, durations and generated ids")
	f.BoolVar(&opts.partial, "partial", false, "replay an incomplete recording as far as it goes")
	return cmd
}

// completeFile completes files for the first argument.
func completeFile(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}

func (a *app) runReplay(ctx context.Context, file string, opts *replayOptions) error {
	if opts.as != "" && opts.plugin == "" {
		return usage("add --plugin PATH", "--as needs --plugin: --as names the recorded plugin to compare with the plugin at PATH")
	}
	for _, text := range opts.ignore {
		if err := recording.CheckIgnored(text); err != nil {
			return usage("begin it with /sent, /received, /verdict, /error, /diff or /result, or write the name of a field without /", "--ignore: %w", err)
		}
	}
	r, err := recording.Read(a.path(file), opts.partial)
	if err != nil {
		return badRecording(err)
	}
	if len(r.Entries) == 0 {
		return &problem{kind: kindFailed, err: fmt.Errorf("%s: the recording has no events and no calls", file), fix: "record it again"}
	}
	if opts.as != "" && !slices.Contains(r.PluginNames(), opts.as) {
		return nothingOf(opts.as, r)
	}
	last := new(recording.LastCall)
	host, done, err := a.replayHost(ctx, r, opts, last)
	if err != nil {
		return err
	}
	defer done()
	o := recording.ReplayOptions{Host: host, Last: last, Ignore: opts.ignore, Exact: opts.exact}
	if opts.plugin != "" {
		found := host.Plugins()[0]
		if found.Error != nil {
			return &problem{kind: kindFailed, err: fmt.Errorf("the plugin at %s does not work: %s", opts.plugin, *found.Error),
				fix: "`patchbay plugin validate " + opts.plugin + "` lists what is wrong"}
		}
		o.As = found.Name
		o.Plugin = opts.as
		if o.Plugin == "" {
			o.Plugin = o.As
		}
		if !slices.Contains(r.PluginNames(), o.Plugin) {
			return nothingOf(o.Plugin, r)
		}
	}
	report, err := recording.Replay(ctx, r, o)
	if err != nil {
		return err
	}
	return a.printReport(file, report)
}

// replayHost opens the plugins for a replay, with temporary storage.
func (a *app) replayHost(ctx context.Context, r *recording.Recording, opts *replayOptions, last *recording.LastCall) (*pluginhost.Host, func(), error) {
	o, done := a.options(needPlugins(r.PluginNames())), func() {}
	switch {
	case opts.plugin != "":
		path, err := a.pluginAt(ctx, opts.plugin)
		if err != nil {
			return nil, nil, err
		}
		o.Needs, o.NoSearch, o.Paths = nil, true, []string{path}
	case r.PluginsOf == pluginsOfDemo:
		stage, err := demo.SetUp()
		if err != nil {
			return nil, nil, err
		}
		o, done = stage.Options(a.logger()), stage.Remove
	}
	o.Storage, o.Record = new(recording.Memory).Plugin, last.Record
	host, err := a.open(ctx, o)
	if err != nil {
		done()
		return nil, nil, err
	}
	return host, func() {
		if err := host.Close(); err != nil { // the result of the command is not affected
			a.logger().Warn("plugins did not stop cleanly", "err", err)
		}
		done()
	}, nil
}

// needPlugins selects the plugins with these names, and those whose names are not known before they
// run.
func needPlugins(names []string) needs {
	return func(c pluginhost.Candidate) bool {
		return !c.Known || slices.Contains(names, c.Name) || slices.Contains(names, c.Place)
	}
}

func nothingOf(plugin string, r *recording.Recording) error {
	return &problem{kind: kindNotFound, err: fmt.Errorf("the recording has no calls of a plugin %.60q", plugin),
		fix: "choose one of its plugins with --as: " + strings.Join(r.PluginNames(), ", ")}
}

func badRecording(err error) error {
	switch {
	case errors.Is(err, recording.ErrCut):
		return &problem{kind: kindFailed, err: err, fix: "record it again, or replay the existing part with --partial"}
	case is[*recording.FileError](err):
		return &problem{kind: kindFailed, err: err, fix: "`patchbay trace record FILE -- COMMAND` makes a recording"}
	case errors.Is(err, os.ErrNotExist), errors.Is(err, plainfile.ErrKind):
		return usage("name a file that `patchbay trace record` has written", "%w", err)
	}
	return err
}

// replayJSON is the result of a replay in JSON.
type replayJSON struct {
	File string `json:"file"`
	*recording.Report
}

func (a *app) printReport(file string, r *recording.Report) error {
	if a.flags.json {
		if err := a.printJSON(replayJSON{file, r}); err != nil {
			return err
		}
	} else if err := a.showReport(file, r); err != nil {
		return err
	}
	if r.OK {
		return nil
	}
	return alreadyPrinted(kindDifferent, "if the new behaviour is right, record it again", "%s in %s",
		render.Count(len(r.Differences), "difference"), render.Count(r.Played, "call"))
}

func (a *app) showReport(file string, r *recording.Report) error {
	screen := a.screen()
	for _, d := range r.Differences {
		where := string(d.Point)
		if where == "" {
			where = d.Type
		}
		a.printf("%s  %s %s %s\n", screen.Paint(render.StyleDim, fmt.Sprintf("#%d", d.N)), screen.Paint(render.StyleBold, where),
			screen.Paint(render.StyleBold, d.Plugin), screen.Paint(render.StyleDim, d.Dialect+" "+d.Name))
		if d.Problem != "" {
			a.printf("     │ %s\n", screen.Paint(render.StyleRed, d.Problem))
		}
		if err := render.Changes(a.out, d.Changes, screen); err != nil {
			return err
		}
	}
	for _, note := range r.Notes {
		a.printf("%s\n", screen.Paint(render.StyleYellow, "note: "+note))
	}
	switch n := len(r.Differences); n {
	case 0:
		a.printf("%s: %s went as recorded\n", render.Line(file), render.Count(r.Played, "call"))
	default:
		a.printf("%s: %s in %s (- recorded, + now)\n", render.Line(file), render.Count(n, "difference"), render.Count(r.Played, "call"))
	}
	return nil
}
