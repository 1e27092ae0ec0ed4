package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/render"
)

func newJobNewCommand(a *app) *cobra.Command {
	var d jobDraft
	cmd := &cobra.Command{
		Use:                   "new [NAME] [-- COMMAND [ARG…]]",
		DisableFlagsInUseLine: true, // flags at the end belong to COMMAND
		Short:                 "Write a new agent",
		Long: `Write a new agent: a directory with an agent.toml, in the first directory of
[jobs] dirs. On a terminal, the command asks for the name, the program and the
time if they are missing. Without a terminal, NAME is required. The manifest is
checked before anything is written, and no existing file is overwritten.

Without COMMAND, a script run.sh is written for you to fill in. Without a time,
the agent runs only when you start it with ` + "`patchbay job run`" + `.`,
		Example: `  patchbay job new
  patchbay job new disk-report --at 06:00 -- df -h /
  patchbay job new backup --cron '30 2 * * 1-5' --notify desktop -- ~/bin/backup --all
  patchbay job new poll --every 15 -- ./poll.sh`,
		Annotations: exits(exit{exitOK, "the agent was written"}, exit{exitFailed, "the agent cannot be written"}, exit{exitRefused, "an agent of this name exists already"}),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"at", "every", "cron", "timeout", "attempts"} {
				f := cmd.Flag(name)
				switch {
				case !f.Changed || f.Value.String() != "" && f.Value.String() != "0":
				case name == "timeout" || name == "attempts":
					return usage("write at least 1, or leave it out for the default", "--%s: want at least 1", name)
				default:
					return usage("leave it out for an agent that runs only by hand", "--%s: %q is not a schedule", name, f.Value)
				}
			}
			if err := d.parseArgs(args, cmd.ArgsLenAtDash()); err != nil {
				return err
			}
			return a.newJob(cmd.Context(), d)
		},
	}
	f := cmd.Flags()
	f.StringVar(&d.description, "description", "", "describe the agent with this `TEXT`")
	f.StringVar(&d.at, "at", "", "run it every day at `HH:MM`")
	f.IntVar(&d.every, "every", 0, "run it every `MINUTES` minutes")
	f.StringVar(&d.cron, "cron", "", "run it at the times of this crontab `EXPRESSION`")
	f.StringVar(&d.zone, "timezone", "", "read the times of --at and --cron in this time `ZONE` (default: that of the machine)")
	f.IntVar(&d.timeout, "timeout", 0, "end an attempt after this number of `SECONDS` (default 1800)")
	f.IntVar(&d.attempts, "attempts", 0, "make up to `N` attempts (default 3)")
	f.StringVar(&d.notify, "notify", "", "send failures with this `DRIVER`: desktop, or ntfy:TOPIC (default: no notifications)")
	mustComplete(cmd, "notify", "desktop", "ntfy:")
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}

// parseArgs reads the arguments: a name, and a command after --.
func (d *jobDraft) parseArgs(args []string, dash int) error {
	names := args
	if dash >= 0 {
		names, d.command = args[:dash], args[dash:]
		if len(d.command) == 0 {
			return usage("write the command after --, or leave -- out", "there is no command after --")
		}
	}
	if len(names) > 1 {
		return usage("put the command after --, as in: patchbay job new NAME -- COMMAND", "too many arguments: %q", names[1])
	}
	d.name = strings.Join(names, "")
	return d.checkFlags()
}

// checkFlags checks what the parser of manifests does not check. It also checks what the parser
// would report without naming the flag.
func (d *jobDraft) checkFlags() error {
	if d.at != "" && d.every != 0 || d.at != "" && d.cron != "" || d.every != 0 && d.cron != "" {
		return usage("use one of them, and write more schedules into the agent.toml", "--at, --every and --cron cannot be used together")
	}
	if _, err := time.Parse("15:04", d.at); d.at != "" && err != nil {
		return usage("write hours and minutes, as in --at 06:00", "--at: %.80q is not a time of day", d.at)
	}
	if d.zone != "" && d.every != 0 {
		return usage("leave --timezone out", "--timezone has no effect on --every: an interval has no time of day")
	}
	if driver, topic, _ := strings.Cut(d.notify, ":"); d.notify != "" && d.notify != "desktop" && (driver != "ntfy" || topic == "") {
		return usage("write desktop or ntfy:TOPIC; for another driver, write [[notifiers]] into the agent.toml", "--notify: %.80q is neither desktop nor ntfy:TOPIC", d.notify)
	}
	return nil
}

// newJob asks for missing values, checks the agent, and writes it.
func (a *app) newJob(ctx context.Context, d jobDraft) error {
	dirs, err := a.jobDirs()
	if err != nil {
		return err
	}
	if len(dirs) == 0 {
		return &problem{kind: kindConfig, err: errors.New("[jobs] dirs of the configuration is empty"), fix: "name a directory there, or remove the key"}
	}
	trial := d // with a name, so that a wrong flag is reported before the questions
	trial.name = cmp.Or(d.name, "trial")
	if _, err := trial.parse("agent.toml"); err != nil {
		return err
	}
	if a.interactive() {
		if err := a.askForJob(ctx, &d, dirs); err != nil {
			return err
		}
	} else if d.name == "" {
		return usage("usage: patchbay job new NAME [--at HH:MM] -- COMMAND", "a new agent needs a name")
	}
	d.makePathAbsolute(a.dir())
	dir := filepath.Join(dirs[0], d.name)
	m, err := a.checkJob(&d, dir, dirs)
	if err != nil {
		return err
	}
	if err := writeAgent(dir, &d); err != nil {
		return err
	}
	return a.showNewJob(m, &d)
}

// makeStartable is the fix for a command that names no program.
const makeStartable = "install it, write its whole path, or make it executable (chmod +x)"

// checkJob parses the manifest as a daemon will.
func (a *app) checkJob(d *jobDraft, dir string, dirs []string) (*job.Manifest, error) {
	m, err := d.parse(filepath.Join(dir, "agent.toml"))
	if err != nil {
		return nil, err
	}
	if err := a.checkName(d.name, dirs); err != nil {
		return nil, err
	}
	if d.zone != "" && len(m.Schedules) == 0 {
		return nil, usage("add --at or --cron, or leave --timezone out", "--timezone has no effect without a time")
	}
	if !d.scripted() && !a.startable(m.Run.Command) {
		return nil, usage(makeStartable, "%s is not a program that can be started", m.Run.Command)
	}
	return m, nil
}

// checkName returns why a new agent cannot have a name.
func (a *app) checkName(name string, dirs []string) error {
	dir := filepath.Join(dirs[0], name)
	if _, err := (&jobDraft{name: name}).parse(filepath.Join(dir, "agent.toml")); err != nil {
		return err
	}
	if other := a.agentCalled(name, dirs); other != "" {
		return &problem{kind: kindRefused, err: fmt.Errorf("agent %s exists already: %s", name, other), fix: "choose another name, or edit that file"}
	}
	if _, err := os.Lstat(dir); err == nil {
		return &problem{kind: kindRefused, err: fmt.Errorf("%s exists already", dir), fix: "choose another name, or move it away"}
	}
	return nil
}

// parse parses the manifest. Its errors name the flags that the values come from, because the file
// does not exist yet.
func (d *jobDraft) parse(path string) (*job.Manifest, error) {
	m, err := job.Parse(path, []byte(d.manifest()))
	bad, ok := errors.AsType[*config.Error](err)
	if !ok {
		return m, err
	}
	var what, fixes []string
	for _, p := range bad.Problems {
		what = append(what, cmp.Or(manifestFlags[p.Key], p.Key)+": "+strings.TrimPrefix(p.Message, p.Key+": "))
		fixes = append(fixes, p.Fix)
	}
	return nil, usage(joinFixes(fixes...), "%s", strings.Join(what, "; "))
}

// manifestFlags says where the values of a new manifest come from.
var manifestFlags = map[string]string{
	"agent.name": "NAME", "agent.timeout_seconds": "--timeout", "defaults.max_retries": "--attempts",
	"schedules[0].interval_minutes": "--every", "schedules[0].expression": "--cron", "schedules[0].timezone": "--timezone",
}

// agentCalled returns the path of the manifest of the agent with a name, or "".
func (a *app) agentCalled(name string, dirs []string) string {
	list := job.LoadDirs(dirs).Manifests
	if i := slices.IndexFunc(list, func(m *job.Manifest) bool { return m.Agent.Name == name }); i >= 0 {
		return list[i].Path
	}
	return ""
}

// startable reports whether a run would find a program.
func (a *app) startable(command string) bool {
	if filepath.IsAbs(command) {
		return dialect.Executable(command)
	}
	return slices.ContainsFunc(filepath.SplitList(a.getenv("PATH")), func(dir string) bool { return dialect.Executable(filepath.Join(dir, command)) })
}

// writeAgent writes the directory in one step: a temporary directory beside its place, then a
// rename.
func writeAgent(dir string, d *jobDraft) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	target := filepath.Join(tmp, "agent")
	if err := os.Mkdir(target, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(target, "agent.toml"), []byte(d.manifest()), 0o644); err != nil {
		return err
	}
	if d.scripted() {
		if err := os.WriteFile(filepath.Join(target, "run.sh"), []byte(firstScript), 0o755); err != nil {
			return err
		}
	}
	return os.Rename(target, dir) // it fails if the directory exists by now and is not empty
}

func (a *app) showNewJob(m *job.Manifest, d *jobDraft) error {
	files := []string{m.Path}
	if d.scripted() {
		files = append(files, filepath.Join(m.Dir, "run.sh"))
	}
	if a.flags.json {
		return a.printJSON(map[string]any{"agent": m.Agent.Name, "path": m.Path, "files": files})
	}
	o := a.screen()
	for _, f := range files {
		a.printf("wrote %s\n", o.Paint(render.StyleBold, a.place(f)))
	}
	a.sayf("\nNext:\n")
	var rows [][]render.Cell
	next := func(command, why string) {
		rows = append(rows, []render.Cell{{}, {Text: command, Style: render.StyleCyan}, {Text: why}})
	}
	if d.scripted() {
		next("${EDITOR:-vi} "+a.place(filepath.Join(m.Dir, "run.sh")), "write what it does")
	}
	next("patchbay job run "+m.Agent.Name, "run it now")
	next("patchbay job logs "+m.Agent.Name, "what it printed")
	if len(m.Schedules) > 0 {
		next("patchbay serve", "run it "+d.when())
	}
	return render.Table(a.out, rows, o)
}

// askForJob asks for the values that the command line does not have. It asks again after an answer
// that it cannot use.
func (a *app) askForJob(ctx context.Context, d *jobDraft, dirs []string) (err error) {
	for fault := a.checkName(d.name, dirs); fault != nil; fault = a.checkName(d.name, dirs) {
		if d.name != "" {
			a.tellf("%s: %s\n", render.Line(fault.Error()), fixOf(fault))
		}
		if d.name, err = a.ask(ctx, "Name (letters, digits, -): "); err != nil {
			return err
		}
	}
	for d.command == nil {
		line, err := a.ask(ctx, "Command to run (empty: a script for you to fill in): ")
		if err != nil {
			return err
		}
		d.command = splitCommand(line)
		d.makePathAbsolute(a.dir())
		if !d.scripted() && !a.startable(d.command[0]) {
			a.tellf("%s is not a program that can be started: %s.\n", render.Line(d.command[0]), makeStartable)
			d.command = nil
		}
	}
	for d.at == "" && d.every == 0 && d.cron == "" {
		line, err := a.ask(ctx, "When? (06:00, every 15 minutes, a line of crontab; empty: by hand) ")
		if err != nil || line == "" {
			return err
		}
		if err := d.schedule(line); err != nil {
			a.tellf("%s\n", render.Line(err.Error()))
		}
	}
	return d.checkFlags()
}
