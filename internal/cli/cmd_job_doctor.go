package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/internal/render"
)

func newJobDoctorCommand(a *app) *cobra.Command {
	reach := false
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find what is wrong with agents, and how to fix it",
		Long: `Check every agent: its manifest, its program, its plugins (whether they exist,
are of the right kind and accept their configuration) and its notifiers. Each
plugin is called to check its configuration, and for nothing else. No agent is
run, and no message is sent.`,
		Example:     "  patchbay job doctor\n  patchbay job doctor --reach",
		Annotations: exits(exit{exitOK, "nothing is wrong; there may be warnings"}, exit{exitFailed, "there are errors"}),
		Args:        arguments(),
		RunE:        func(cmd *cobra.Command, _ []string) error { return a.runJobDoctor(cmd.Context(), reach) },
	}
	cmd.Flags().BoolVar(&reach, "reach", false, "also check whether the services of notifiers can be reached")
	return cmd
}

func (a *app) runJobDoctor(ctx context.Context, reach bool) error {
	d := diagnosis{Findings: []pluginhost.Finding{}}
	agents := 0
	err := a.withHost(ctx, needPoints(jobPoints...), func(host *pluginhost.Host) error {
		findings, n, err := a.examineJobs(ctx, host, reach)
		d.Findings, agents = append(d.Findings, findings...), n
		return err
	})
	if err != nil {
		return err
	}
	failed := len(findingsOf(d.Findings, pluginhost.SeverityError))
	d.OK = failed == 0
	if a.flags.json {
		if err := a.printJSON(d); err != nil {
			return err
		}
	} else {
		a.printf("%s: %s\n", render.Count(agents, "agent"), a.verdict(d.Findings))
		a.printFindings(d.Findings)
	}
	if d.OK {
		return nil
	}
	return alreadyPrinted(kindFailed, "each finding says how to fix it", "%s found", render.Count(failed, "error"))
}

// verdict returns a diagnosis in a few words.
func (a *app) verdict(findings []pluginhost.Finding) string {
	if len(findings) == 0 {
		return a.screen().Paint(render.StyleGreen, "all is well")
	}
	return render.Count(len(findings), "finding")
}

// examineJobs checks all agents, and counts them.
func (a *app) examineJobs(ctx context.Context, host *pluginhost.Host, reach bool) ([]pluginhost.Finding, int, error) {
	dirs, err := a.jobDirs()
	if err != nil {
		return nil, 0, err
	}
	located, err := a.located()
	if err != nil {
		return nil, 0, err
	}
	secrets, err := config.LoadSecrets(located.SecretsFile)
	if err != nil {
		return nil, 0, err
	}
	settings, err := config.Load(located.ConfigFile)
	if err != nil {
		return nil, 0, err
	}
	procs := proc.NewGroup(a.logger())
	defer procs.Close()
	loaded := job.LoadDirs(dirs)
	all, trouble := located.JobSecrets(secrets)
	x := daemon.JobExam{Host: host, Environ: a.Environ, Secrets: all, Trouble: trouble, Procs: procs, Reach: reach,
		Confined: settings.Sandbox == config.SandboxDeclared}
	return x.Of(ctx, loaded), len(loaded.Manifests) + len(loaded.Broken), nil
}

// jobDirs returns the directories in which Patchbay looks for agents.
func (a *app) jobDirs() ([]string, error) {
	dirs, err := a.located()
	if err != nil {
		return nil, err
	}
	c, err := config.Load(dirs.ConfigFile)
	if err != nil {
		return nil, err
	}
	return dirs.JobDirs(c)
}

func newJobImportCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "import [DIR]",
		Short: "Copy the agents of a dotagent directory",
		Long: `Copy the agents of DIR into Patchbay's own directory. An agent is a directory
with an agent.toml. DIR defaults to ~/.config/dotagent/agents. If Patchbay's own
directory has an agent of the same name, the agent is not copied. Agents in
~/.config/dotagent/agents also run without a copy: by default, [jobs] dirs
contains that directory. After the import, only the copy runs.`,
		Example:     "  patchbay job import\n  patchbay job import ~/old-agents",
		Annotations: exits(exit{exitOK, "all agents were copied, or exist already"}, exit{exitFailed, "some manifests are broken"}, exit{exitNotFound, "there is no directory DIR"}),
		Args:        atMostOne,
		RunE: func(_ *cobra.Command, args []string) error {
			from := ""
			if len(args) == 1 {
				from = a.path(args[0])
			}
			return a.importJobs(from)
		},
	}
}

// An importedJob is the result of importing one agent.
type importedJob struct {
	Agent string `json:"agent"`
	From  string `json:"from"`
	To    string `json:"to"`
	State string `json:"state"` // imported | present | broken
	Error string `json:"error,omitempty"`
}

func (a *app) importJobs(from string) error {
	dirs, err := config.Locate(a.getenv, runtime.GOOS)
	if err != nil {
		return err
	}
	if from == "" {
		from = filepath.Join(dirs.Home, ".config", "dotagent", "agents")
	}
	if _, err := os.Stat(from); err != nil {
		return &problem{kind: kindNotFound, err: err, fix: "name the directory that holds the agents"}
	}
	if _, err := os.Stat(filepath.Join(from, "agent.toml")); err == nil {
		return &problem{kind: kindUsage, err: fmt.Errorf("%s is an agent itself", from),
			fix: "name the directory that holds it: patchbay job import " + program.Quote(filepath.Dir(from))}
	}
	loaded := job.LoadDirs([]string{from})
	own := filepath.Join(dirs.Config, "agents")
	taken := job.LoadDirs([]string{own})
	list := []importedJob{}
	broken := 0
	for _, m := range loaded.Manifests {
		one := importedJob{Agent: m.Agent.Name, From: m.Dir, To: filepath.Join(own, filepath.Base(m.Dir)), State: "imported"}
		if has(taken, m.Agent.Name) {
			one.State = "present"
		} else if err := copyAgent(one.From, one.To); errors.Is(err, fs.ErrExist) {
			one.State = "present"
		} else if err != nil {
			return err
		}
		list = append(list, one)
	}
	for _, b := range loaded.Broken {
		broken++
		list = append(list, importedJob{Agent: filepath.Base(filepath.Dir(b.Path)), From: b.Path, State: "broken", Error: b.Err.Error()})
	}
	return a.showImported(list, broken)
}

// has reports whether an agent is among the loaded ones, in any directory.
func has(l job.Loaded, agent string) bool {
	return slices.ContainsFunc(l.Manifests, func(m *job.Manifest) bool { return m.Agent.Name == agent })
}

func (a *app) showImported(list []importedJob, broken int) error {
	if a.flags.json {
		if err := a.printJSON(list); err != nil {
			return err
		}
	} else {
		for _, i := range list {
			a.printf("%-9s %s", i.State, i.Agent)
			if i.State == "imported" {
				a.printf(" → %s", i.To)
			}
			a.printf("\n")
			if i.Error != "" {
				a.printf("          %s\n", indentRest(render.Block(i.Error), "          "))
			}
		}
		if len(list) == 0 {
			a.sayf("There are no agents there: an agent is a directory with an agent.toml.\n")
		}
	}
	if broken > 0 {
		return alreadyPrinted(kindFailed, "`patchbay job doctor` says what is wrong with each", "%s broken", render.Count(broken, "manifest"))
	}
	return nil
}

// copyAgent copies a directory in one step: to a temporary directory beside its place, then by a
// rename.
func copyAgent(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fs.ErrExist
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(to), ".import-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	target := filepath.Join(tmp, "agent")
	if err := os.CopyFS(target, os.DirFS(from)); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return os.Rename(target, to)
}
