package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/conformance"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugindir"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// conformFlags holds the flags of plugin test.
type conformFlags struct {
	only    []string
	junit   string
	timeout time.Duration
	list    bool
	bare    bool
}

func newPluginConformCommand(a *app) *cobra.Command {
	f := &conformFlags{}
	cmd := &cobra.Command{
		Use:                   "test PATH|NAME | -- COMMAND [ARG…]",
		DisableFlagsInUseLine: true, // flags at the end belong to COMMAND
		Short:                 "Test whether a plugin follows its protocol",
		Long: `Test whether a plugin keeps the rules of its protocol: manifest and handshake,
every hook and tool with values made from its schemas, wrong and huge input,
parallel calls, time limits, shutdown, no process left running, only the
protocol on stdout, and no use of anything that it does not declare. A failed
check is shown with the rule that it checks, the page and row of docs/protocols
with that rule, and how to fix it.

PATH is the file or directory of a plugin, installed or not. Its dialect is
found from its files, or given with --dialect. NAME is an installed plugin, or
an MCP server of the configuration. COMMAND after -- starts an MCP server.

The plugin runs with its own temporary home and project. Plugins of kaged and
mine run in the sandbox with the capabilities that they declare; on a machine
without a sandbox they run only with --no-sandbox. Plugins of other dialects are
not confined. Hooks and tools are really called, so what a plugin does to files
and over the network really happens. MCP tools with the mark destructiveHint are
an exception: they are not called. docs/testing-plugins.md lists every check.`,
		Example: `  patchbay plugin test ./my-plugin
  patchbay plugin test ./my-plugin --only kaged.handshake,kaged.tool.answers
  patchbay plugin test ./my-plugin --json | jq '.checks[] | select(.status == "fail")'
  patchbay plugin test ./my-plugin --junit report.xml
  patchbay plugin test -- python3 server.py --stdio
  patchbay plugin test --list --dialect kaged`,
		Annotations: exits(exit{exitOK, "no check failed; there may be warnings"}, exit{exitFailed, "the test could not run, or the file of --junit cannot be written"},
			exit{exitNotFound, "no such plugin"}, exit{exitChecks, "a check failed"}),
		Args:              func(cmd *cobra.Command, args []string) error { return f.check(cmd, args) },
		ValidArgsFunction: a.completeConform,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.list {
				return a.listChecks()
			}
			return a.runConform(cmd.Context(), f, args, cmd.ArgsLenAtDash() == 0)
		},
	}
	cmd.Flags().StringSliceVar(&f.only, "only", nil, "run only the checks `ID,…`; the beginning of an id, such as kaged.handshake, chooses several")
	cmd.Flags().BoolVar(&f.list, "list", false, "list the checks, and run none")
	cmd.Flags().StringVar(&f.junit, "junit", "", "also write the results to this `FILE`, in the format of JUnit")
	cmd.Flags().DurationVar(&f.timeout, "timeout", conformance.DefaultTimeout, "stop the whole test after this `DURATION`; checks that have not finished by then fail, and checks that need their results are skipped")
	cmd.Flags().BoolVar(&f.bare, "no-sandbox", false, "run plugins of kaged and mine without their sandbox")
	if err := cmd.RegisterFlagCompletionFunc("only", completeChecks); err != nil {
		panic(err) // the flag was added a few lines above
	}
	return cmd
}

// check accepts one plugin, a command after --, or with --list neither.
func (f *conformFlags) check(cmd *cobra.Command, args []string) error {
	fix := "usage: " + cmd.UseLine()
	switch dash := cmd.ArgsLenAtDash(); {
	case f.timeout <= 0:
		return usage("write a duration such as 2m", "--timeout: %s is not a positive duration", f.timeout)
	case f.list && len(args) > 0:
		return usage("leave out "+args[0]+", or --list", "%s: --list cannot be used with a plugin", cmd.CommandPath())
	case f.list && (len(f.only) > 0 || f.junit != ""):
		return usage("leave them out, or name a plugin", "%s: --list cannot be used with --only or --junit", cmd.CommandPath())
	case f.list:
		return nil
	case len(args) == 0:
		return usage(fix, "%s: missing PATH, NAME, or -- COMMAND", cmd.CommandPath())
	case dash > 0, dash < 0 && len(args) > 1:
		return usage(fix, "%s: too many arguments: %q", cmd.CommandPath(), args[1])
	}
	return nil
}

// completeConform completes the names of plugins, and files.
func (a *app) completeConform(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	names, _ := completeOnce(a.completePlugins)(cmd, args, toComplete)
	return names, cobra.ShellCompDirectiveDefault
}

// completeChecks completes the ids of checks.
func completeChecks(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	for _, d := range conformance.Dialects() {
		for _, c := range conformance.Checks(d) {
			out = append(out, cobra.CompletionWithDesc(c.ID, c.Does))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// listChecks lists the checks of the dialects.
func (a *app) listChecks() error {
	all := []conformance.Check{}
	for _, d := range conformance.Dialects() {
		if len(a.flags.dialects) == 0 || slices.Contains(a.flags.dialects, d) {
			all = append(all, conformance.Checks(d)...)
		}
	}
	if len(all) == 0 {
		return usage("the dialects are "+strings.Join(conformance.Dialects(), ", "), "--dialect: there are no checks for %s", strings.Join(a.flags.dialects, ", "))
	}
	if a.flags.json {
		return a.printJSON(all)
	}
	rows := [][]render.Cell{render.Head("ID", "ROW", "WHAT IT DOES")}
	for _, c := range all {
		rows = append(rows, render.Cells(c.ID, c.Row, c.Does))
	}
	return render.Table(a.out, rows, a.screen())
}

func (a *app) runConform(ctx context.Context, f *conformFlags, args []string, command bool) error {
	var found []pluginhost.Candidate
	opts := a.options(func(c pluginhost.Candidate) bool {
		found = append(found, c)
		return false // start no plugin
	})
	opts.NoSearch = command || a.isPath(args[0])
	if f.junit != "" { // before the test, so that a path that cannot be written does not waste it
		if err := checkWritable(a.path(f.junit)); err != nil {
			return &problem{kind: kindFailed, err: fmt.Errorf("--junit: %w", err), fix: "name a file in a directory that can be written to"}
		}
	}
	return a.withOptions(ctx, opts, func(host *pluginhost.Host) error {
		target, err := a.conformTarget(ctx, host, found, args, command)
		if err != nil {
			return err
		}
		a.warnTakenFor(target)
		return a.conform(ctx, f, host, target)
	})
}

// checkWritable checks whether a file can be created at a path.
func checkWritable(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".patchbay-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// conform runs the test, and shows each result as it comes.
func (a *app) conform(ctx context.Context, f *conformFlags, host *pluginhost.Host, target conformance.Target) error {
	opts := conformance.Options{Environ: a.Environ, Timeout: f.timeout, Only: f.only, Bare: f.bare, Log: a.logger()}
	if info := target.Found.Info; info != nil {
		guarded, err := host.Guarded(info.Needs)
		if err != nil {
			return err
		}
		opts.Guarded = guarded
	}
	view := &conformView{app: a, began: time.Now()}
	if !a.flags.json {
		view.head(target)
		opts.OnBegin, opts.OnResult = view.begin, view.result
	}
	report, err := conformance.Run(ctx, target, opts)
	view.clear()
	if errors.Is(err, conformance.ErrNoCheck) {
		return usage("`patchbay plugin test --list --dialect "+target.Dialect+"` lists the checks", "--only: %w", err)
	}
	if err != nil {
		return err
	}
	if f.junit != "" {
		if err := conformance.WriteJUnit(a.path(f.junit), report, time.Since(view.began)); err != nil {
			return fmt.Errorf("--junit: %w", err)
		}
	}
	if a.flags.json {
		if err := a.printJSON(report); err != nil {
			return err
		}
	} else {
		view.foot(report)
	}
	if report.OK {
		return nil
	}
	return alreadyPrinted(kindChecks, "", "plugin %s fails %s", report.Plugin, render.Count(report.Count(conformance.Fail), "check"))
}

// conformTarget returns the plugin that the command line names.
func (a *app) conformTarget(ctx context.Context, host *pluginhost.Host, found []pluginhost.Candidate, args []string, command bool) (conformance.Target, error) {
	only, err := a.onlyDialect()
	if err != nil {
		return conformance.Target{}, err
	}
	switch {
	case command && only != "" && only != "mcp":
		return conformance.Target{}, usage("name the plugin's file or directory", "a command after -- is an MCP server, not a plugin of %s", only)
	case command:
		return conformance.Server("", args, nil, a.workDir()), nil
	case !a.isPath(args[0]):
		return a.installedTarget(host, found, args[0], only)
	}
	target, err := a.targetAt(args[0], only)
	return target, cmp.Or(err, a.warnOfInstalled(ctx, args[0], target.Path, byName))
}

// onlyDialect returns the dialect of --dialect, for commands that take one plugin, or "".
func (a *app) onlyDialect() (string, error) {
	switch len(a.flags.dialects) {
	case 0:
		return "", nil
	case 1:
		return a.flags.dialects[0], nil
	}
	return "", usage("name one dialect", "--dialect: the command takes one plugin, which has one dialect")
}

// targetAt returns the plugin at a path of the command line.
func (a *app) targetAt(path, only string) (conformance.Target, error) {
	target, err := conformance.At(a.path(path), only, dialect.Env{Vars: a.Environ})
	switch {
	case errors.Is(err, plugindir.ErrSeveral):
		return target, usage("name the file of one plugin", "%w", err)
	case errors.Is(err, plugindir.ErrNone) && only != "":
		fix := "leave --dialect out, or build the plugin first"
		if only == job.PluginDialect && dialect.Executable(a.path(path)) {
			fix = "rename it: mv " + path + " " + filepath.Join(filepath.Dir(path), "dotagent-plugin-"+strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
		}
		return target, notFound(fmt.Errorf("%w of the dialect %s", err, only), fix)
	case errors.Is(err, plugindir.ErrNone):
		fix := "name a plugin's file or directory; build a compiled plugin first, and make a script executable (chmod +x)"
		if filepath.Base(path) == path {
			fix += "; the installed plugin of this name is DIALECT:" + path + ", such as mine:" + path
		}
		return target, notFound(err, fix)
	}
	return target, err
}

// pluginAt returns the file or directory of the plugin that a path of the command line names. The
// path may be a directory that contains one plugin.
func (a *app) pluginAt(ctx context.Context, path string) (string, error) {
	only, err := a.onlyDialect()
	if err != nil {
		return "", err
	}
	if only == "mcp" {
		return "", usage("name the server under [[mcp]] in config.toml, or try it with `patchbay plugin test` or `patchbay plugin dev`", "%s: an MCP server is not a plugin", path)
	}
	target, err := a.targetAt(path, only)
	return target.Path, cmp.Or(err, a.warnOfInstalled(ctx, path, target.Path, byName))
}

// warnOfInstalled says which plugin is meant if the word on the command line, which named the
// plugin at path, is also the name of an installed plugin. write returns how to name that one.
func (a *app) warnOfInstalled(ctx context.Context, word, path string, write func(c pluginhost.Candidate, word string) string) error {
	if filepath.Base(word) != word || path == "" {
		return nil // no name is written like that, or there is no such plugin
	}
	var installed []string
	opts := a.options(func(c pluginhost.Candidate) bool {
		if isNamed(c, word, c.Name, c.Place, c.Called) && c.Path != path {
			installed = append(installed, write(c, word))
		}
		return false
	})
	opts.Logger = slog.New(slog.DiscardHandler) // the command itself opens a host, too
	err := a.withOptions(ctx, opts, func(*pluginhost.Host) error { return nil })
	if len(installed) > 0 {
		a.logger().Warn(fmt.Sprintf("%s is the plugin in the working directory, not the installed one of this name", word),
			"fix", "for the installed one, write "+strings.Join(installed, " or "))
	}
	return err
}

func byName(c pluginhost.Candidate, word string) string { return c.Dialect + ":" + word }

func notFound(err error, fix string) error { return &problem{kind: kindNotFound, err: err, fix: fix} }

// workDir returns the directory in which the command works, as an absolute path.
func (a *app) workDir() string {
	if dir, err := filepath.Abs(a.dir()); err == nil {
		return dir
	}
	return a.dir()
}

// installedTarget returns an installed plugin by its name.
func (a *app) installedTarget(host *pluginhost.Host, found []pluginhost.Candidate, name, only string) (conformance.Target, error) {
	if command, environ, ok, err := host.Program(name); ok && (only == "" || only == "mcp") {
		if errors.Is(err, errors.ErrUnsupported) {
			return conformance.Target{}, usage("test its program: `patchbay plugin test -- COMMAND`", "%w, and only programs can be tested", err)
		}
		return conformance.Server(name, command, environ, a.workDir()), err
	}
	i := slices.IndexFunc(found, func(c pluginhost.Candidate) bool {
		return isNamed(c, name, c.Name, c.Place) && (only == "" || only == c.Dialect)
	})
	if i < 0 { // no file or directory has the name, so look for a plugin that calls itself so
		i = slices.IndexFunc(found, func(c pluginhost.Candidate) bool {
			return isNamed(c, name, c.Called) && (only == "" || only == c.Dialect)
		})
	}
	if i < 0 {
		var names []string
		for _, c := range found {
			names = append(names, c.Name)
		}
		return conformance.Target{}, noPlugin(host, name, names)
	}
	return conformance.At(found[i].Path, found[i].Dialect, dialect.Env{Vars: a.Environ})
}
