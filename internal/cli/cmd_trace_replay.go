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
		Short: "Play recorded traffic against plugins again, and show what differs",
		Long: `Ask the plugins again what they were asked while FILE was recorded, call after call, and compare: what each was sent,
what it answered, the verdict, the error. Each plugin is given what it was given then, whatever the others answer now, so a
difference is that plugin's own. Plugins that are gone, or no longer have the hook, are differences. Plugins that are not in
the recording take no part.

Without --plugin the plugins that are installed are asked, or the demo's for a recording of the demo. With --plugin it is the
one at PATH alone, installed or not; its part of the recording is the one under its own name, or that of --as.

Plugins are started for the replay and get storage that is empty at first and gone at the end. Nothing is written to the
journal, to sessions or to what plugins have stored. What a plugin itself does, it does again. A
recording that somebody else made can have any call in it: look at it before you play it against installed plugins.

Durations never count. Times and generated ids (RFC 3339 times, UUIDs, ULIDs, numbers in fields such as created_at and
duration_ms) count as the same, unless --exact is given. --ignore leaves out a field of this name, at any depth, or what a
JSON pointer into the step names; * stands for any one part: --ignore etag --ignore /received/items/*/score`,
		Example: `  patchbay trace replay demo.trace
  patchbay trace replay calc.trace --plugin ./calc
  patchbay trace replay turn.trace --ignore request_id --json | jq '.differences'`,
		Annotations: exits(exit{exitOK, "everything went as it was recorded"}, exit{exitChecks, "there are differences"},
			exit{exitFailed, "the file is no recording, or not whole; the plugin at PATH does not start"}, exit{exitNotFound, "there is no plugin at PATH, or the recording has nothing of it"}),
		Args:              arguments("FILE"),
		ValidArgsFunction: completeFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runReplay(cmd.Context(), args[0], &opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.plugin, "plugin", "", "ask the plugin at this `PATH` alone")
	f.StringVar(&opts.as, "as", "", "with --plugin: play what the recording has of the plugin `NAME`")
	f.StringArrayVar(&opts.ignore, "ignore", nil, "leave out this `FIELD` or JSON pointer (may be repeated)")
	f.BoolVar(&opts.exact, "exact", false, "times and generated ids count too")
	f.BoolVar(&opts.partial, "partial", false, "play a recording that has no end, as far as it goes")
	return cmd
}

// completeFile offers files for the first argument.
func completeFile(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}

func (a *app) runReplay(ctx context.Context, file string, opts *replayOptions) error {
	if opts.as != "" && opts.plugin == "" {
		return usage("add --plugin PATH", "--as names the part of the recording that the plugin at a path plays")
	}
	r, err := recording.Read(a.path(file), opts.partial)
	if err != nil {
		return badRecording(err)
	}
	if len(r.Entries) == 0 {
		return &problem{kind: kindFailed, err: fmt.Errorf("%s: the recording has no event and no call in it", file), fix: "record it again"}
	}
	if opts.as != "" && !slices.Contains(r.Named(), opts.as) {
		return nothingOf(opts.as, r)
	}
	ear := new(recording.Ear)
	host, done, err := a.replayHost(ctx, r, opts, ear)
	if err != nil {
		return err
	}
	defer done()
	o := recording.ReplayOptions{Host: host, Heard: ear, Ignore: opts.ignore, Exact: opts.exact}
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
		if !slices.Contains(r.Named(), o.Plugin) {
			return nothingOf(o.Plugin, r)
		}
	}
	report, err := recording.Replay(ctx, r, o)
	if err != nil {
		return err
	}
	return a.printReport(file, report)
}

// replayHost opens the plugins that are asked again, with storage of their own.
func (a *app) replayHost(ctx context.Context, r *recording.Recording, opts *replayOptions, ear *recording.Ear) (*pluginhost.Host, func(), error) {
	o, done := a.options(needPlugins(r.Named())), func() {}
	switch {
	case opts.plugin != "":
		o.Needs, o.NoSearch, o.Paths = nil, true, []string{a.path(opts.plugin)}
	case r.PluginsOf == pluginsOfDemo:
		stage, err := demo.SetUp()
		if err != nil {
			return nil, nil, err
		}
		o, done = stage.Options(a.logger()), stage.Remove
	}
	o.Storage, o.Record = new(recording.Memory).Plugin, ear.Hear
	host, err := a.open(ctx, o)
	if err != nil {
		done()
		return nil, nil, err
	}
	return host, func() {
		if err := host.Close(); err != nil { // the command's own result stands
			a.logger().Warn("plugins did not end well", "err", err)
		}
		done()
	}, nil
}

// needPlugins is what a command about plugins of these names needs.
func needPlugins(names []string) needs {
	return func(c pluginhost.Candidate) bool {
		return !c.Known || slices.Contains(names, c.Name) || slices.Contains(names, c.Place)
	}
}

func nothingOf(plugin string, r *recording.Recording) error {
	return &problem{kind: kindNotFound, err: fmt.Errorf("the recording has nothing of a plugin %.60q", plugin),
		fix: "name one of those that it has with --as: " + strings.Join(r.Named(), ", ")}
}

func badRecording(err error) error {
	switch {
	case errors.Is(err, recording.ErrCut):
		return &problem{kind: kindFailed, err: err, fix: "record it again, or play what there is with --partial"}
	case is[*recording.FileError](err):
		return &problem{kind: kindFailed, err: err, fix: "`patchbay trace record FILE -- COMMAND` makes a recording"}
	case errors.Is(err, os.ErrNotExist), errors.Is(err, plainfile.ErrKind):
		return usage("name a file that `patchbay trace record` has made", "%w", err)
	}
	return err
}

// reportJSON is a replay, as other programs see it.
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
	return told(kindDifferent, "if that is what you want, record it again", "%s in %s",
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
