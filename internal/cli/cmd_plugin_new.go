package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/newplugin"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/internal/tui"
)

type pluginNewOptions struct {
	request newplugin.Request
	dryRun  bool
}

func newPluginNewCommand(a *app) *cobra.Command {
	var opts pluginNewOptions
	cmd := &cobra.Command{
		Use:        "new [NAME]",
		SuggestFor: []string{"create", "init"},
		Short:      "Write a new, working plugin to start from",
		Long: `Write the directory ./NAME: a plugin that works, with its own tests and a
README, for a dialect and a language. On a terminal, the command asks for what
is missing. It needs no network: the packages that Go and Python plugins import
are written beside them. An existing directory is never changed.

` + pluginNewChoices(),
		Example: `  patchbay plugin new hello --dialect scaffold --lang python
  patchbay plugin new notes --dialect kaged --lang go --dry-run
  patchbay plugin new`,
		Annotations: exits(exit{exitOK, "the plugin was written"}, exit{exitFailed, "the directory cannot be written"}, exit{exitRefused, "the directory exists already"},
			exit{exitUsage, "usage error: an argument is missing, the name is not valid, or the dialect has no template in this language"}, exit{exitInterrupted, "the questions were not answered"}),
		Args:              atMostOne,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				opts.request.Name = args[0]
			}
			return a.runPluginNew(cmd.Context(), opts)
		},
	}
	cmd.Flags().StringVar(&opts.request.Dialect, "dialect", "", "write it for this `DIALECT`: "+strings.Join(newplugin.Words(newplugin.Dialects()), ", "))
	cmd.Flags().StringVar(&opts.request.Language, "lang", "", "write it in this `LANGUAGE`: "+strings.Join(newplugin.Words(newplugin.Languages("")), ", "))
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "show what would be written, and write nothing")
	completeFlag(cmd, "dialect", func() []newplugin.Choice { return newplugin.DialectsOf(opts.request.Language) })
	completeFlag(cmd, "lang", func() []newplugin.Choice { return newplugin.Languages(opts.request.Dialect) })
	return cmd
}

// completeFlag completes a flag with choices.
func completeFlag(cmd *cobra.Command, name string, choices func() []newplugin.Choice) {
	err := cmd.RegisterFlagCompletionFunc(name, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var out []cobra.Completion
		for _, c := range choices() {
			out = append(out, cobra.CompletionWithDesc(c.Word, c.Means))
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // the flag was added a line above
	}
}

// pluginNewChoices lists dialects and languages for the help.
func pluginNewChoices() string {
	var b strings.Builder
	for _, d := range newplugin.Dialects() {
		fmt.Fprintf(&b, "  %-9s %s\n            in %s\n", d.Word, d.Means, strings.Join(newplugin.Words(newplugin.Languages(d.Word)), ", "))
	}
	return strings.TrimRight(b.String(), "\n")
}

func (a *app) runPluginNew(ctx context.Context, o pluginNewOptions) error {
	if err := a.checkPlaces(); err != nil {
		return err
	}
	if err := a.askPluginNew(ctx, &o.request); err != nil {
		return err
	}
	plan, err := newplugin.Make(o.request)
	if err != nil {
		return pluginNewUsage(err)
	}
	dir, err := filepath.Abs(a.path(plan.Name))
	if err != nil {
		return err
	}
	if o.dryRun {
		err = newplugin.Free(dir)
	} else {
		_, err = plan.Write(filepath.Dir(dir))
	}
	if errors.Is(err, newplugin.ErrExists) {
		return &problem{kind: kindRefused, err: err, fix: "choose another name, or remove the directory first; nothing was written"}
	}
	if err != nil {
		return &problem{kind: kindFailed, err: err}
	}
	if a.flags.json {
		return a.printJSON(newPluginNewResult(plan, dir, o.dryRun))
	}
	a.printPluginNew(plan, o.dryRun)
	return nil
}

// pluginNewUsage turns an error of newplugin into a usage error.
func pluginNewUsage(err error) error {
	if e, ok := errors.AsType[*newplugin.Error](err); ok {
		return usage(e.Fix, "%s", e.Message)
	}
	return err
}

// askPluginNew asks for missing arguments. Without a terminal, missing arguments are an error that
// lists them.
func (a *app) askPluginNew(ctx context.Context, r *newplugin.Request) error {
	var missing []string
	for _, m := range []struct{ what, have string }{{"NAME", r.Name}, {"--dialect", r.Dialect}, {"--lang", r.Language}} {
		if m.have == "" {
			missing = append(missing, m.what)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if err := newplugin.CheckPair(*r); err != nil { // before the user answers questions for nothing
		return pluginNewUsage(err)
	}
	if !a.InTTY || !a.OutTTY || a.flags.json || a.dumb() {
		return usage(pluginNewFix(*r), "patchbay plugin new: missing %s", strings.Join(missing, ", "))
	}
	return a.fillPluginNew(ctx, r)
}

// pluginNewFix lists the possible values of missing arguments, with an example that keeps the given
// ones.
func pluginNewFix(r newplugin.Request) string {
	var fixes []string
	dialects, languages := newplugin.DialectsOf(r.Language), newplugin.Languages(r.Dialect)
	if r.Dialect == "" {
		fixes = append(fixes, "--dialect is one of "+strings.Join(newplugin.Words(dialects), ", "))
	}
	if r.Language == "" {
		fixes = append(fixes, "--lang is one of "+strings.Join(newplugin.Words(languages), ", "))
	}
	example := fmt.Sprintf("for example: patchbay plugin new %s --dialect %s --lang %s",
		cmp.Or(r.Name, "hello"), cmp.Or(r.Dialect, dialects[0].Word), cmp.Or(r.Language, languages[0].Word))
	return strings.Join(append(fixes, example), "; ")
}

// fillPluginNew asks for missing arguments on the terminal.
func (a *app) fillPluginNew(ctx context.Context, r *newplugin.Request) error {
	ask := func(answer *string, q tui.Question) (err error) {
		if *answer != "" {
			return nil
		}
		q.Width = a.screen().Width
		*answer, err = tui.Ask(ctx, a.In, a.Out, q)
		return err
	}
	err := ask(&r.Dialect, tui.Question{Title: "Which dialect?", Hint: "the protocol that the plugin speaks", Choices: choices(newplugin.DialectsOf(r.Language))})
	if err == nil {
		err = ask(&r.Language, tui.Question{Title: "In which language?", Choices: choices(newplugin.Languages(r.Dialect))})
	}
	if err == nil {
		err = ask(&r.Name, tui.Question{Title: "Name of the plugin", Hint: "my-plugin", Check: func(name string) error { return a.pluginNewName(*r, name) }})
	}
	if errors.Is(err, tui.ErrGivenUp) {
		return &problem{kind: kindInterrupted, err: errors.New("no plugin was written")}
	}
	return pluginNewUsage(err)
}

// pluginNewName checks a name while it is typed.
func (a *app) pluginNewName(r newplugin.Request, name string) error {
	r.Name = name
	if e, ok := errors.AsType[*newplugin.Error](newplugin.CheckName(r)); ok {
		return errors.New(strings.TrimPrefix(e.Message+": "+e.Fix, ": "))
	}
	return newplugin.Free(a.path(name))
}

func choices(list []newplugin.Choice) [][2]string {
	var out [][2]string
	for _, c := range list {
		out = append(out, [2]string{c.Word, c.Means})
	}
	return out
}

// pluginNewResult is the result of plugin new in JSON.
type pluginNewResult struct {
	newplugin.Request
	Dir    string           `json:"dir"`
	Files  []string         `json:"files"`
	Next   []newplugin.Step `json:"next"`
	DryRun bool             `json:"dry_run,omitempty"`
}

func newPluginNewResult(p *newplugin.Plan, dir string, dryRun bool) pluginNewResult {
	out := pluginNewResult{Request: p.Request, Dir: dir, Next: p.Next, DryRun: dryRun}
	for _, f := range p.Files {
		out.Files = append(out.Files, f.Path)
	}
	return out
}

func (a *app) printPluginNew(p *newplugin.Plan, dryRun bool) {
	o := a.screen()
	would := "wrote"
	if dryRun {
		would = "would write"
	}
	text := fmt.Sprintf("%s ./%s, a %s plugin in %s: %s", o.Paint(render.StyleGreen, would), p.Name, p.Dialect, p.Language, fileList(p.Files))
	a.printf("%s\n", render.Wrap(text, o.Width, "  "))
	if dryRun {
		return
	}
	a.sayf("\nNext:\n")
	for _, s := range p.Next {
		a.printf("  %s\n", o.Paint(render.StyleDim, "# "+s.Does))
		a.printf("  %s\n", s.Command)
	}
}

// fileList names the files of a plugin. Files in a folder are named by the folder.
func fileList(files []newplugin.File) string {
	var names []string
	for _, f := range files {
		name, _, nested := strings.Cut(f.Path, "/")
		if nested {
			name += "/"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
