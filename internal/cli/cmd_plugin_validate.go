package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/conformance"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/internal/pythonfile"
	"github.com/patchbay-dev/patchbay/internal/render"
)

func newPluginValidateCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:        "validate PATH|NAME",
		SuggestFor: []string{"check", "lint"},
		Short:      "Check the manifest of a plugin, and whether it starts",
		Long: `Check the whole manifest of a plugin, and start it once to see whether it
answers. Each error is printed as "path:line:column: message", so that editors
can jump to it. A python plugin that is given by its path counts as untrusted:
its code runs in a sandbox without any capability. Where there is no sandbox, it
is only parsed. A python plugin that is given by its name is loaded as usual. If
a scaffold plugin is given by its name, all scaffold plugins are started,
because such a plugin says its name only when it starts.`,
		Example: `  patchbay plugin validate ./my-plugin
  patchbay plugin validate git-context
  patchbay plugin validate ./my-plugin --json | jq '.errors[]'`,
		Annotations: exits(exit{exitOK, "the plugin has no errors"}, exit{exitFailed, "the plugin has errors"}, exit{exitNotFound, "no such plugin"}),
		Args:        arguments("PATH|NAME"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
			names, _ := completeOnce(a.completePlugins)(cmd, args, toComplete)
			return names, cobra.ShellCompDirectiveDefault // files too
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runPluginValidate(cmd.Context(), args[0])
		},
	}
}

// validation is the result of plugin validate in JSON.
type validation struct {
	OK       bool          `json:"ok"`
	Plugin   string        `json:"plugin"`
	Dialect  string        `json:"dialect"`
	Errors   []problemJSON `json:"errors"`
	Warnings []problemJSON `json:"warnings"`
}

func (a *app) runPluginValidate(ctx context.Context, target string) error {
	a.reportsPlugins = true
	if !a.isPath(target) {
		err := a.withRivals(ctx, target, func(host *pluginhost.Host) error { return a.validate(host, target) })
		if errors.Is(err, pluginhost.ErrNotFound) {
			return cmp.Or(a.validateUnexecutable(ctx, target), err)
		}
		return err
	}
	path, err := a.pluginAt(ctx, target)
	if err != nil {
		return err
	}
	code := false
	opts := a.options(func(c pluginhost.Candidate) bool {
		code = c.Dialect == pythonfile.Dialect
		return !code
	})
	opts.NoSearch, opts.Paths = true, []string{path}
	return a.withOptions(ctx, opts, func(host *pluginhost.Host) error {
		if code {
			return a.validateCode(ctx, host, path)
		}
		return a.validate(host, host.Plugins()[0].Name) // Open fails if there is no plugin at the path
	})
}

// isPath reports whether target is a path, not the name of a plugin: it contains a slash, or
// exists.
func (a *app) isPath(target string) bool {
	if strings.ContainsRune(target, os.PathSeparator) || strings.Contains(target, "/") {
		return true
	}
	_, err := os.Stat(a.path(target))
	return err == nil
}

func (a *app) validate(host *pluginhost.Host, name string) error {
	p, err := host.Plugin(name)
	if err != nil {
		return err
	}
	v := newValidation(p, host.Doctor())
	for _, f := range host.TrustFindings(name) {
		v.Warnings = append(v.Warnings, problemJSON{Path: f.Where, Message: f.Problem, Fix: f.Fix})
	}
	if message, fix := a.reservedNameWarning(p.PluginInfo); message != "" {
		v.Warnings = append(v.Warnings, problemJSON{Path: p.Path, Message: message, Fix: fix})
	}
	// Of two python plugins with one name, both are used, and the second has a warning of its own.
	if other := host.NameTaken(p.Path, p.Name); other != "" && p.State == dialect.Ready && p.Dialect != pythonfile.Dialect {
		v.Warnings = append(v.Warnings, problemJSON{Path: p.Path,
			Message: fmt.Sprintf("another plugin is called %s, so that only one of them can be used: %s", p.Name, other), Fix: "change the name in one of them"})
	}
	if err := a.printValidation(v, p); err != nil || v.OK {
		return err
	}
	return v.failure()
}

// validateUnexecutable reports a script with this name that is not a plugin because it is not
// executable. It returns nil if there is no such script.
func (a *app) validateUnexecutable(ctx context.Context, name string) error {
	none := func(pluginhost.Candidate) bool { return false }
	return a.withHost(ctx, none, func(host *pluginhost.Host) error {
		for _, f := range host.Doctor() {
			own := strings.TrimPrefix(f.Action.Plugin, f.Dialect+":")
			if f.Action.Kind != pluginhost.ActionExecutable || name != own && name != f.Action.Plugin {
				continue
			}
			v := &validation{Plugin: own, Dialect: f.Dialect, Errors: []problemJSON{{Path: f.Where, Message: f.Problem, Fix: f.Fix}}, Warnings: []problemJSON{}}
			return cmp.Or(a.printValidation(v, nil), v.failure())
		}
		return nil
	})
}

// failure returns the error of a command that has printed the errors.
func (v *validation) failure() error {
	return alreadyPrinted(kindFailed, "", "plugin %s has %s", v.Plugin, render.Count(len(v.Errors), "error"))
}

// validateCode checks a file of code that is not trusted yet.
func (a *app) validateCode(ctx context.Context, host *pluginhost.Host, path string) error {
	s, err := pythonfile.Of(host).CheckFile(ctx, path)
	fault, faulty := errors.AsType[*pythonfile.CodeError](err)
	if err != nil && !faulty {
		return err
	}
	v := &validation{OK: !faulty, Plugin: cmp.Or(s.Name, trimExt(filepath.Base(path))), Dialect: pythonfile.Dialect,
		Errors: []problemJSON{}, Warnings: []problemJSON{}}
	if faulty {
		v.Errors = append(v.Errors, codeProblem(fault))
		s.Warnings = fault.Warnings
	}
	if s.NotRun != nil {
		v.Warnings = append(v.Warnings, problemJSON{Path: path, Message: "its code was parsed, but not run: " + s.NotRun.Error()})
	}
	for _, w := range s.Warnings {
		v.Warnings = append(v.Warnings, problemJSON{Path: path, Message: w.Text, Fix: w.Fix})
	}
	info := pluginhost.PluginInfo{Name: v.Plugin, Dialect: v.Dialect, Version: s.Version(), Hooks: s.Hooks}
	if err := a.printValidation(v, &pluginhost.PluginDetail{PluginInfo: info}); err != nil || v.OK {
		return err
	}
	return v.failure()
}

// codeProblem returns an error in code. If the code may fail only because the sandbox denies it
// something, the fix is to trust it.
func codeProblem(fault *pythonfile.CodeError) problemJSON {
	p := problemJSON(fault.Problem)
	if p.Fix == "" {
		p.Fix = fault.Fix()
	}
	if fault.Problem.Fix == "" && fault.Tried() {
		p.Fix = "if you trust it, copy it to ~/.agent/plugins/ and validate it by its name: then it is loaded as usual"
	}
	return p
}

func newValidation(p *pluginhost.PluginDetail, findings []pluginhost.Finding) *validation {
	v := &validation{Plugin: p.Name, Dialect: p.Dialect, Errors: pluginProblems(p.Problems), Warnings: pluginProblems(p.Warnings)}
	if p.Error != nil && len(p.Problems) == 0 {
		why := problemJSON{Path: p.Path, Message: *p.Error}
		for _, f := range pluginFindings(findings, p) {
			if f.Where == p.Path && strings.HasPrefix(*p.Error, f.Problem) {
				why.Message, why.Fix = f.Problem, f.Fix
			}
		}
		if p.State == dialect.Broken {
			v.Errors = append(v.Errors, why)
		} else { // disabled, skipped or unsupported: the plugin itself has no error
			v.Warnings = append(v.Warnings, why)
		}
	}
	v.OK = len(v.Errors) == 0 && p.State != dialect.Broken
	if message, fix := takenFor(p.Dialect, p.Path); !v.OK && message != "" {
		v.Errors = append(v.Errors, problemJSON{Path: p.Path, Message: message, Fix: fix})
	}
	return v
}

// takenFor returns what is wrong with a python plugin that is taken for one of another dialect, or
// "".
func takenFor(of, path string) (message, fix string) {
	if of == pythonfile.Dialect || !pythonfile.Decorated(path) {
		return "", ""
	}
	return "it has the decorators of a python plugin, but it is executable and begins with #!, so that it was taken for a " + of + " plugin",
		"`chmod -x " + program.Quote(path) + "`, and try again"
}

// warnTakenFor warns of a python plugin that is taken for one of another dialect.
func (a *app) warnTakenFor(t conformance.Target) {
	if message, fix := takenFor(t.Dialect, t.Path); message != "" {
		a.logger().Warn(t.Path+": "+message, "fix", fix)
	}
}

func pluginProblems(list []dialect.Problem) []problemJSON {
	out := make([]problemJSON, len(list))
	for i, p := range list {
		out[i] = problemJSON(p)
	}
	return out
}

func (a *app) printValidation(v *validation, p *pluginhost.PluginDetail) error {
	if a.flags.json {
		return a.printJSON(v)
	}
	o := a.screen()
	for _, e := range v.Errors {
		a.printf("%s\n", render.Wrap(e.text(), o.Width, "  "))
	}
	for _, w := range v.Warnings {
		a.printf("%s\n", render.Wrap(o.Paint(render.StyleYellow, "warning: ")+w.text(), o.Width, "  "))
	}
	if v.OK {
		name := strings.TrimSpace(render.Line(p.Name + " " + p.Version))
		has := ": " + cmp.Or(offers(p.PluginInfo), "no hooks, no tools")
		switch p.State {
		case dialect.Unsupported:
			has = ", but not for this system, so it is not used here"
		case dialect.Skipped:
			has = ", but it is left out"
		}
		a.sayf("%s %s (%s) is fine%s\n", o.Paint(render.StyleGreen, "ok"), name, p.Dialect, has)
	}
	return nil
}

// text returns the problem on a line that editors can jump to, and its fix on the next.
func (p problemJSON) text() string {
	where := p.Path
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", p.Path, p.Line, p.Column)
	}
	text := render.Line(where + ": " + p.Message)
	if p.Fix != "" {
		text += "\n  fix: " + render.Line(p.Fix)
	}
	return text
}
