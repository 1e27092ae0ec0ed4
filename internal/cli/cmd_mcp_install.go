package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/editfile"
	"github.com/patchbay-dev/patchbay/internal/mcpinstall"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

type mcpInstallOptions struct {
	project, uninstall, dryRun bool
}

func newMCPInstallCommand(a *app) *cobra.Command {
	var opts mcpInstallOptions
	cmd := &cobra.Command{
		Use:   "install AGENT",
		Short: "Add Patchbay to the MCP servers of an agent",
		Long: `Add Patchbay to the MCP servers of an agent. AGENT is one of
` + strings.Join(mcpinstall.Hosts(), ", ") + `.

One entry called patchbay is added to the agent's own file. Every other byte
stays, and a copy of the old file is kept beside it. Installing again changes
nothing.`,
		Example: `  patchbay mcp install claude
  patchbay mcp install codex --dry-run
  patchbay mcp install cursor --project
  patchbay mcp install claude --uninstall`,
		Annotations: exits(exit{exitOK, "the entry was added or removed, or there was nothing to change"}, exit{exitFailed, "the file cannot be changed"},
			exit{exitUsage, "usage error; no such agent, or it has no file for projects"}),
		Args:      arguments("AGENT"),
		ValidArgs: mcpinstall.Hosts(),
		RunE:      func(_ *cobra.Command, args []string) error { return a.runMCPInstall(args[0], opts) },
	}
	cmd.Flags().BoolVar(&opts.project, "project", false, "write the file of the current project instead of your own")
	cmd.Flags().BoolVar(&opts.uninstall, "uninstall", false, "remove the entry again")
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "show what would change, and write nothing")
	return cmd
}

// mcpInstalled is the result of mcp install in JSON.
type mcpInstalled struct {
	Host    string `json:"host"`
	File    string `json:"file"`
	Key     string `json:"key"`
	Changed bool   `json:"changed"`
	Backup  string `json:"backup,omitempty"`
	DryRun  bool   `json:"dry_run,omitempty"`
}

func (a *app) runMCPInstall(name string, o mcpInstallOptions) error {
	if !slices.Contains(mcpinstall.Hosts(), name) {
		return usage(suggestName(name, mcpinstall.Hosts(), "it is one of "+strings.Join(mcpinstall.Hosts(), ", ")), "unknown agent %q", name)
	}
	entry, err := a.mcpEntry(name, o)
	if err != nil {
		return usage("", "%w", err)
	}
	var done editfile.Result
	switch {
	case o.dryRun:
		done.Changed, err = wouldChange(entry, o.uninstall)
	case o.uninstall:
		done, err = entry.Unset()
	default:
		done, err = entry.Set()
	}
	if err != nil {
		return &problem{kind: kindFailed, err: err}
	}
	if a.flags.json {
		return a.printJSON(mcpInstalled{name, entry.File(), entry.Key(), done.Changed, done.Backup, o.dryRun})
	}
	a.printf("%s\n", a.installedLine(entry, done, o))
	return nil
}

// installedLine returns what was done, or what would be done.
func (a *app) installedLine(e *mcpinstall.Entry, done editfile.Result, o mcpInstallOptions) string {
	file := a.place(e.File())
	what, would := "is in "+file+" already", ""
	if o.dryRun {
		would = "would be "
	}
	switch {
	case o.uninstall && !done.Changed:
		what = "is not in " + file
	case o.uninstall:
		what = would + "removed from " + file
	case done.Changed:
		what = would + "written into " + file + ": " + e.Value()
	}
	line := e.Key() + " " + what
	if done.Backup != "" {
		line += "\nthe old file is " + a.place(done.Backup)
	}
	return line
}

// mcpEntry returns the entry for Patchbay in an agent's file. It has the full path of the program,
// because agents may have another PATH.
func (a *app) mcpEntry(name string, o mcpInstallOptions) (*mcpinstall.Entry, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the path of this program: %w", err)
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	r := mcpinstall.Request{Host: name, Home: dialect.Env{Vars: a.Environ}.Home(), Getenv: a.getenv, Command: []string{self, "mcp"}}
	if home := a.getenv("PATCHBAY_HOME"); home != "" {
		r.Env = map[string]string{"PATCHBAY_HOME": home}
	}
	if o.project {
		r.Project = pluginhost.ProjectRoot(a.dir())
	}
	return mcpinstall.Find(r)
}

func wouldChange(e *mcpinstall.Entry, uninstall bool) (bool, error) {
	old, err := os.ReadFile(e.File())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	change := e.Changed
	if uninstall {
		change = e.Without
		if err != nil {
			return false, nil
		}
	}
	text, err := change(old)
	return string(text) != string(old), err
}
