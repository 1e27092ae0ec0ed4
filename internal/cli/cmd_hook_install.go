package cli

import (
	"cmp"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/hookinstall"
	"github.com/patchbay-dev/patchbay/internal/project"
	"github.com/patchbay-dev/patchbay/internal/render"
)

type hookInstallOptions struct {
	project   bool
	uninstall bool
	dryRun    bool
	trust     bool
}

func newHookInstallCommand(a *app) *cobra.Command {
	var o hookInstallOptions
	cmd := &cobra.Command{
		Use:   "install AGENT",
		Short: "Make another agent ask your plugins",
		Long: `Write Patchbay into the configuration file of another agent, so that the agent
asks your plugins: before and after tool calls, about prompts, when sessions
begin and end, and at its other events for which there is a point. AGENT is one
of ` + strings.Join(agentNames(), ", ") + `.

Every other byte of the file stays as it is, and a copy of the old file is kept
beside it. Installing again updates the entries if they are out of date.
--uninstall removes the entries; a file that has not changed since the
installation gets its old text back.

Codex runs only hooks that you have approved. Approve them with /hooks in Codex,
or install with --trust, which writes the approval for you.`,
		Example: `  patchbay hook install claude
  patchbay hook install claude --dry-run
  patchbay hook install codex --trust
  patchbay hook install gemini --project
  patchbay hook install claude --uninstall`,
		Annotations: exits(exit{exitOK, "the hook was installed or removed"}, exit{exitFailed, "the file cannot be read or written"}),
		Args:        arguments("AGENT"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return agentNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			agent, err := hookAgent(args[0])
			if err != nil {
				return err
			}
			return a.runHookInstall(agent, o)
		},
	}
	cmd.Flags().BoolVar(&o.project, "project", false, "write the project's file instead of your own")
	cmd.Flags().BoolVar(&o.uninstall, "uninstall", false, "remove Patchbay from the file again")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "show what would change, and write nothing")
	cmd.Flags().BoolVar(&o.trust, "trust", false, "approve the hook for Codex, in its config.toml")
	return cmd
}

// hookAgent returns the agent with a name.
func hookAgent(name string) (codehook.Agent, error) {
	for _, agent := range codehook.Agents() {
		if string(agent) == name {
			return agent, nil
		}
	}
	return "", usage(suggestName(name, agentNames(), "it is one of "+strings.Join(agentNames(), ", ")), "unknown agent %q", name)
}

// hookPlace returns the file of an agent: the user's, or that of the current project.
func (a *app) hookPlace(agent codehook.Agent, ofProject bool) (hookinstall.Place, error) {
	home, err := a.home()
	if err != nil {
		return hookinstall.Place{}, err
	}
	root := ""
	if ofProject {
		dir, err := filepath.Abs(a.dir())
		if err != nil {
			return hookinstall.Place{}, err
		}
		root = project.Root(dir)
	}
	return hookinstall.Find(agent, home, root, a.getenv)
}

func (a *app) home() (string, error) {
	dirs, err := config.Locate(a.getenv, runtime.GOOS)
	return dirs.Home, err
}

func (a *app) runHookInstall(agent codehook.Agent, o hookInstallOptions) error {
	if o.trust && (agent != codehook.Codex || o.uninstall) {
		return usage("leave --trust out", "--trust works only with `patchbay hook install codex`")
	}
	if err := a.checkPlaces(); err != nil {
		return err
	}
	place, err := a.hookPlace(agent, o.project)
	if err != nil {
		return err
	}
	if o.uninstall {
		change, err := hookinstall.Uninstall(place, o.dryRun)
		if err != nil {
			return err
		}
		shown := hookChange{Host: agent, Project: o.project, Change: change, DryRun: o.dryRun, Uninstalled: true}
		if agent == codehook.Codex {
			if err := a.withdraw(place, &shown); err != nil {
				return err
			}
		}
		return a.printHookChange(shown)
	}
	program, err := a.hookProgram()
	if err != nil {
		return err
	}
	change, err := hookinstall.Install(place, program, o.dryRun)
	if err != nil {
		return err
	}
	shown := hookChange{Host: agent, Project: o.project, Change: change, DryRun: o.dryRun, Program: append([]string{program.Path}, program.Args...)}
	for _, e := range codehook.Events(agent) {
		shown.Events = append(shown.Events, e.Name)
	}
	if agent == codehook.Codex {
		if err := a.approve(place, &shown, o); err != nil {
			return err
		}
	}
	return a.printHookChange(shown)
}

// approve finds the approvals that Codex needs, and writes them if the user asked for it.
func (a *app) approve(place hookinstall.Place, shown *hookChange, o hookInstallOptions) error {
	text := []byte(shown.Change.New)
	var err error
	if shown.Approvals, err = hookinstall.Approvals(place, text); err != nil || !o.trust {
		return err
	}
	user, err := a.hookPlace(codehook.Codex, false)
	if err != nil {
		return err
	}
	if o.dryRun {
		shown.WouldTrust = hookinstall.TrustFile(user)
		return nil
	}
	result, err := hookinstall.Trust(user, shown.Approvals)
	shown.Trusted = result.Path
	return err
}

// withdraw removes the approvals of the entries that were removed.
func (a *app) withdraw(place hookinstall.Place, shown *hookChange) error {
	approvals, err := hookinstall.Approvals(place, []byte(shown.Change.Old))
	if err != nil {
		return err
	}
	user, err := a.hookPlace(codehook.Codex, false)
	if err != nil {
		return err
	}
	change, err := hookinstall.Untrust(user, approvals, shown.DryRun)
	if err != nil {
		return fmt.Errorf("the hooks are removed from %s, but their approvals are not: %w", shown.Change.Path, err)
	}
	if change.Changed {
		shown.Untrusted = change.Path
	}
	return nil
}

// hookChange is the change of an agent's file.
type hookChange struct {
	Host        codehook.Agent
	Project     bool
	Change      hookinstall.Change
	DryRun      bool
	Uninstalled bool
	Program     []string
	Events      []string
	Approvals   []hookinstall.Approval
	Trusted     string // the file in which approvals were written; "": none were
	WouldTrust  string // the file in which approvals would be written without --dry-run
	Untrusted   string // the file from which approvals were, or would be, removed
}

func (a *app) printHookChange(c hookChange) error {
	if a.flags.json {
		return a.printJSON(map[string]any{"host": c.Host, "file": c.Change.Path, "changed": c.Change.Changed, "removed": c.Change.Removed,
			"backup": c.Change.Backup, "dry_run": c.DryRun, "installed": !c.Uninstalled, "command": c.Program, "events": c.Events,
			"approvals": c.Approvals, "trusted_in": c.Trusted, "untrusted_in": c.Untrusted})
	}
	o := a.screen()
	a.sayf("%s: %s\n", o.Paint(render.StyleBold, string(c.Host)), c.summary(a.place(c.Change.Path)))
	if c.DryRun {
		return a.printDryRun(c)
	}
	if c.Change.Backup != "" {
		a.printf("  the old file is %s\n", a.place(c.Change.Backup))
	}
	if c.Uninstalled {
		if c.Untrusted != "" {
			a.printf("  its approvals were removed from %s\n", a.place(c.Untrusted))
		}
		return nil
	}
	a.printf("  it starts %s\n", strings.Join(c.Program, " "))
	a.sayf("  for %s\n", strings.Join(c.Events, ", "))
	a.printApprovals(c)
	a.sayf("`patchbay hook status` shows whether it works; `patchbay hook install %s%s --uninstall` removes it.\n", c.Host, c.scope())
	return nil
}

// printDryRun prints what would change in which file, then the change, and at the end that nothing
// was written, because the beginning may have scrolled away.
func (a *app) printDryRun(c hookChange) error {
	o := a.screen()
	if !c.Change.Changed {
		return nil
	}
	added, removed := render.Changed(c.Change.Old, c.Change.New)
	switch {
	case c.Change.Old == "":
		a.sayf("  a new file of %s\n", render.Count(added, "line"))
	case c.Change.Removed:
		a.sayf("  its %s would be removed\n", render.Count(removed, "line"))
	default:
		a.sayf("  %s added, %d removed; the old file would be kept beside it\n", render.Count(added, "line"), removed)
	}
	if !c.Uninstalled {
		a.printf("  it would start %s\n", strings.Join(c.Program, " "))
		a.sayf("  for %s\n", strings.Join(c.Events, ", "))
	}
	if c.WouldTrust != "" {
		a.sayf("  %s would be written to %s\n", render.Count(len(c.Approvals), "approval"), a.place(c.WouldTrust))
	}
	if c.Untrusted != "" {
		a.sayf("  its approvals would be removed from %s\n", a.place(c.Untrusted))
	}
	a.printf("\n")
	err := render.TextDiff(a.out, c.Change.Old, c.Change.New, o)
	a.sayf("\nNothing was written. Run the command without --dry-run to change %s.\n", a.place(c.Change.Path))
	return err
}

// summary returns in one line what happened to the file, whose path is shown as path.
func (c hookChange) summary(path string) string {
	will := func(did, would string) string {
		if c.DryRun {
			return would
		}
		return did
	}
	switch {
	case !c.Change.Changed && c.Uninstalled:
		return "Patchbay is not in " + path
	case !c.Change.Changed:
		return path + " is up to date"
	case c.Change.Removed:
		return will("removed ", "would remove ") + path + ", which contained nothing else"
	case c.Uninstalled:
		return will("removed from ", "would be removed from ") + path
	}
	return will("installed in ", "would be installed in ") + path
}

// scope returns the flag that chooses the file.
func (c hookChange) scope() string {
	if c.Project {
		return " --project"
	}
	return ""
}

// printApprovals prints how to approve the hooks in Codex.
func (a *app) printApprovals(c hookChange) {
	if len(c.Approvals) == 0 {
		return
	}
	if c.Trusted != "" {
		a.printf("  approved in %s\n", a.place(c.Trusted))
		return
	}
	a.printf("  Codex does not run these hooks until you approve them: type /hooks in Codex, or install with --trust. Their hashes are\n")
	for _, p := range c.Approvals {
		a.printf("    %s %s\n", cmp.Or(p.Event, p.Key), p.Hash)
	}
}
