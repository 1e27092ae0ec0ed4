package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/hookinstall"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/render"
)

func newDoctorCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "doctor",
		Short:   "Find everything that is wrong, and how to fix it",
		GroupID: groupMore,
		Long: `Read the configuration, start every enabled plugin, and list everything that is
wrong or suspicious, and how to fix it. Plugins of the mine dialect are asked
for their health, all at the same time, for at most five seconds. Hooks that are
installed in other agents are tried with a sample event, as
` + "`patchbay hook status`" + ` does. A directory that Patchbay cannot write is an error.
New plugins are recorded in patchbay.lock. Nothing is repaired.`,
		Example: `  patchbay doctor
  patchbay doctor --json | jq -r '.findings[] | select(.severity == "error") | .fix'`,
		Annotations: exits(exit{exitOK, "nothing is wrong; there may be warnings"},
			exit{exitFailed, "there are errors, in the configuration or elsewhere"}, exit{exitConfig, "there is no home directory, or no file at --config"}),
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runDoctor(cmd.Context()) },
	}
}

// diagnosis is the result of doctor in JSON.
type diagnosis struct {
	OK       bool                 `json:"ok"`
	Findings []pluginhost.Finding `json:"findings"`

	plugins, ready int
	unread         bool // the configuration has errors, so plugins were not looked for
}

func (a *app) runDoctor(ctx context.Context) error {
	a.reportsPlugins = true
	var d diagnosis
	err := a.withHost(ctx, nil, func(host *pluginhost.Host) error {
		if err := host.CheckHealth(ctx); err != nil {
			return err
		}
		for _, p := range host.Plugins() {
			d.plugins++
			if p.State == dialect.Ready {
				d.ready++
			}
		}
		findings, _, err := a.examineJobs(ctx, host, false)
		d.Findings = append([]pluginhost.Finding{}, slices.Concat(host.Doctor(), a.reservedFindings(host.Plugins()), findings, a.hookFindings(ctx), a.examineModel(), a.examinePlaces(), a.examineEngine())...)
		return err
	})
	if bad, ok := errors.AsType[*config.Error](err); ok && ctx.Err() == nil {
		d.Findings, d.unread, err = configFindings(bad), true, nil // errors in the configuration are findings too
	}
	if err != nil {
		return err
	}
	failed := len(findingsOf(d.Findings, pluginhost.SeverityError))
	d.OK = failed == 0
	if err := a.printDiagnosis(&d); err != nil || d.OK {
		return err
	}
	return alreadyPrinted(kindFailed, "each finding says how to fix it", "%s found", render.Count(failed, "error"))
}

// hookFindings returns the faults of the hooks that are installed in other agents. It tries each
// hook.
func (a *app) hookFindings(ctx context.Context) []pluginhost.Finding {
	home, err := a.home()
	if err != nil {
		return nil // without a home directory nothing can be installed there
	}
	dir, err := filepath.Abs(a.dir())
	if err != nil {
		return nil // the directory is gone, so nothing is installed there
	}
	root := pluginhost.ProjectRoot(dir)
	findings := daemon.HookFindings(home, root, a.getenv)
	all, _ := hookinstall.All(home, root, a.getenv) // HookFindings has reported files that cannot be read
	prober := hookinstall.Prober{Environ: a.Environ, Dir: root, Logger: a.logger()}
	for _, in := range all {
		faults, _ := a.tryHook(ctx, prober, in)
		for _, f := range faults {
			findings = append(findings, pluginhost.Finding{Severity: pluginhost.SeverityError, Where: in.Place.Path(), Problem: f.Problem, Fix: f.Fix})
		}
	}
	return findings
}

func configFindings(e *config.Error) []pluginhost.Finding {
	var out []pluginhost.Finding
	for _, p := range e.Problems {
		where := p.File
		if p.Line > 0 {
			where = fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
		}
		out = append(out, pluginhost.Finding{Severity: pluginhost.SeverityError, Where: where, Problem: p.Message, Fix: p.Fix})
	}
	return out
}

func (a *app) printDiagnosis(d *diagnosis) error {
	if a.flags.json {
		return a.printJSON(d)
	}
	o := a.screen()
	if d.unread {
		a.printf("plugins not looked at, because of errors in the configuration")
	} else {
		a.printf("%s, %d ready", render.Count(d.plugins, "plugin"), d.ready)
	}
	if len(d.Findings) == 0 {
		a.printf(": %s\n", o.Paint(render.StyleGreen, "all is well"))
		return nil
	}
	var counts []string
	for _, s := range []pluginhost.Severity{pluginhost.SeverityError, pluginhost.SeverityWarning, pluginhost.SeverityInfo} {
		if n := len(findingsOf(d.Findings, s)); n > 0 {
			counts = append(counts, o.Paint(severityStyle(s), countFindings(n, s)))
		}
	}
	a.printf(": %s\n", strings.Join(counts, ", "))
	a.printFindings(d.Findings)
	return nil
}

func countFindings(n int, s pluginhost.Severity) string {
	if s == pluginhost.SeverityInfo {
		return render.Count(n, "remark")
	}
	return render.Count(n, string(s))
}

// examineEngine returns damage to the store of an embedded engine, and a disk that cannot be
// written. It reads the stored data only if the engine does not run, and only the files that have
// changed since the engine last stopped cleanly.
func (a *app) examineEngine() []pluginhost.Finding {
	dir, err := a.engineDir("")
	if err != nil {
		return nil // the engine is another server, or the configuration has an error, which is reported elsewhere
	}
	r, err := engine.Check(dir, true, a.logger())
	if err != nil {
		return daemon.EngineFindings(nil, nil, err)
	}
	if r.Read != nil && len(r.Read.Findings) > 0 {
		r.Reports = append(r.Reports, engine.Report{Dir: dir, Findings: r.Read.Findings})
	}
	return daemon.EngineFindings(r.Reports, engine.Disk(dir), nil)
}
