package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/rawjson"
)

type fireOptions struct {
	data   string
	trace  bool
	events string
	list   bool
}

func newFireCommand(a *app) *cobra.Command {
	var opts fireOptions
	cmd := &cobra.Command{
		Use:     "fire [POINT]",
		Short:   "Fire an event by hand, and see what plugins do with it",
		GroupID: groupEvents,
		Long: `Send one event through every plugin that hooks its point, and print the verdict
and the payload as the plugins left it. --trace also shows what each plugin was
sent, what it answered and what it changed: each message on one line, or whole
with -v or --json. Without a point, list the points.

--events reads many events, one JSON object {"point", "data"} on each line, and
sends them through the same plugin processes. Each event prints one line of JSON
as soon as it is done. The exit status is then 1 if an event had an error or
names an unknown point, and otherwise 0.`,
		Example: `  patchbay fire turn.input --data '{"message":"hello"}' --trace
  patchbay fire job.preflight --data @job.json --json
  patchbay fire --events events.jsonl | jq -r .verdict
  patchbay fire --list`,
		Annotations: exits(exit{exitOK, "the event passed, or a plugin stopped or skipped it; failures that did not end the event are warnings"},
			exit{exitFailed, "the failure of a plugin ended the event, because of its protocol or of on_failure \"abort\""},
			exit{exitRefused, "a plugin refused the event, or its failure counts as a refusal: at a gate, or with on_failure \"deny\""}, exit{exitNotFound, "no such point"}),
		Args:              fireArgs(&opts),
		ValidArgsFunction: completeOnce(completePoints),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runFire(cmd.Context(), args, &opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.data, "data", "", "the payload as a JSON object; @FILE reads it from a file, - from stdin (default {})")
	nameValue(cmd, "data", "JSON|@FILE|-")
	f.BoolVar(&opts.trace, "trace", false, "show what each plugin was sent, what it answered, and what that changed")
	f.StringVar(&opts.events, "events", "", "fire the events in FILE, one JSON object on each line; - reads stdin")
	nameValue(cmd, "events", "FILE|-")
	f.BoolVar(&opts.list, "list", false, "list the points")
	return cmd
}

// fireArgs accepts a point, or one of the flags that replace it.
func fireArgs(opts *fireOptions) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 1:
			return usage("usage: "+cmd.UseLine(), "patchbay fire: too many arguments: %q", args[1])
		case opts.events != "" && (len(args) == 1 || opts.data != "" || opts.list):
			return usage("each event names its own point and data", "patchbay fire: --events cannot be used with POINT, --data or --list")
		case opts.list && len(args) == 1:
			return usage("leave one of them out", "patchbay fire: --list cannot be used with POINT")
		case opts.list && (opts.data != "" || opts.trace):
			return usage("leave them out, or write a POINT", "patchbay fire: --list cannot be used with --data or --trace")
		case len(args) == 0 && (opts.data != "" || opts.trace) && opts.events == "":
			return usage("`patchbay fire --list` lists the points", "patchbay fire: missing POINT")
		}
		return nil
	}
}

func (a *app) runFire(ctx context.Context, args []string, opts *fireOptions) error {
	switch {
	case opts.events != "":
		return a.runFireEvents(ctx, opts)
	case opts.list || len(args) == 0:
		return a.printPoints()
	}
	point := hook.Point(args[0])
	if _, ok := point.Spec(); !ok {
		return noPoint(args[0])
	}
	data, err := a.jsonObject(ctx, jsonFlag{"data", opts.data})
	if err != nil {
		return err
	}
	return a.withHost(ctx, needPoints(point), func(host *pluginhost.Host) error {
		data := a.withPlace(host, point, data)
		fire, end := a.waitingAt(ctx, point)
		out, err := host.Fire(fire, point, data)
		end()
		if out == nil {
			return err
		}
		hooked := host.HookedBy(point)
		if len(hooked) > 0 || opts.data != "" {
			a.warnOfPayload(point, data)
		}
		return firstError(a.printOutcome(out, hooked, opts.trace), err, refusal(out))
	})
}

// withPlace adds working_dir and project_root to a payload that lacks them, if events at the point
// have these fields.
func (a *app) withPlace(host *pluginhost.Host, point hook.Point, data json.RawMessage) json.RawMessage {
	spec, _ := point.Spec()
	object, err := rawjson.Parse(data)
	dir, dirErr := a.workingDir()
	if err != nil || dirErr != nil {
		return data // the host reports it
	}
	for _, f := range [][2]string{{"working_dir", dir}, {"project_root", host.Project()}} {
		if slices.Contains(spec.Fields, f[0]) && object.Get(f[0]) == nil && f[1] != "" {
			object = append(object, rawjson.Field{Name: f[0], Value: rawjson.String(f[1])})
		}
	}
	return object.JSON()
}

// refusal returns the error of an event that a plugin refused, so that scripts get the exit code.
func refusal(out *hook.Outcome) error {
	if out.Verdict != hook.Deny {
		return nil
	}
	if failure := out.Failure(); failure != nil { // stdout does not show its fix, so the error is printed too
		return &problem{kind: kindRefused, err: fmt.Errorf("%s was refused, because a plugin failed: %w", out.Point, failure)}
	}
	text := fmt.Sprintf("%s was refused by %s", out.Point, out.By)
	if out.Reason != "" {
		text += ": " + out.Reason
	}
	return alreadyPrinted(kindRefused, out.Suggest, "%s", text)
}

func (a *app) printOutcome(out *hook.Outcome, hooked []string, trace bool) error {
	screen := a.screen()
	screen.Hooked = hooked
	switch {
	case a.flags.json && trace:
		return a.printJSON(out.Trace())
	case a.flags.json:
		return a.printJSON(out)
	case trace:
		screen.Wire = true
		if err := render.Trace(a.out, out, screen); err != nil {
			return err
		}
	default:
		if err := render.Verdict(a.out, out, screen); err != nil {
			return err
		}
	}
	return render.JSON(a.out, out.Payload, a.screen())
}

// noPoint returns the error for a point that does not exist, with a list of the points.
func noPoint(name string) error {
	names := pointNames()
	return withFix(fmt.Errorf("%w %q", hook.ErrUnknownPoint, name),
		suggestName(name, names, "the points are:")+"\n"+wrapWords(names, 64))
}

func pointNames() []string {
	var names []string
	for _, spec := range hook.Points() {
		names = append(names, string(spec.Point))
	}
	return names
}

// wrapWords joins words, with a line break before a line gets wider than width.
func wrapWords(words []string, width int) string {
	var b strings.Builder
	used := 0
	for i, w := range words {
		switch {
		case i > 0 && used+len(w)+1 > width:
			b.WriteString("\n")
			used = 0
		case i > 0:
			b.WriteString(" ")
			used++
		}
		b.WriteString(w)
		used += len(w)
	}
	return b.String()
}

// pointJSON is a point in JSON.
type pointJSON struct {
	Point  hook.Point `json:"point"`
	Mode   hook.Mode  `json:"mode"`
	Fields []string   `json:"fields"`
	Doc    string     `json:"doc"`
}

func (a *app) printPoints() error {
	specs := hook.Points()
	if a.flags.json {
		points := make([]pointJSON, len(specs))
		for i, s := range specs {
			points[i] = pointJSON{s.Point, s.Mode, s.Fields, s.Doc}
		}
		return a.printJSON(points)
	}
	rows := [][]render.Cell{render.Head("POINT", "MODE", "WHAT HAPPENS, AND ITS PAYLOAD")}
	for _, s := range specs {
		rows = append(rows,
			[]render.Cell{{Text: string(s.Point), Style: render.StyleBold}, {Text: string(s.Mode), Style: render.StyleCyan}, {Text: s.Doc}},
			[]render.Cell{{}, {}, {Text: "{" + strings.Join(s.Fields, ", ") + "}", Style: render.StyleDim}})
	}
	return render.Table(a.out, rows, a.screen())
}
