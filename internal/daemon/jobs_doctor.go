package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/fixes"
	"github.com/patchbay-dev/patchbay/internal/notify"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// reachTime limits how long a notifier's service may take to answer.
const reachTime = 10 * time.Second

// A JobExam checks agents: their manifests, programs, plugins and notifiers. It runs nothing but
// the plugins' own checks.
type JobExam struct {
	Host     *pluginhost.Host
	Environ  []string
	Secrets  *config.Secrets
	Trouble  []config.Problem // problems with the files of the secrets
	Procs    *proc.Group
	Confined bool // [security] of agents is enforced
	Reach    bool // also check whether the services of notifiers can be reached; no message is sent

	checked func(m *job.Manifest, fits bool) // called for each manifest; fits: each plugin was asked, and none refused its config; may be nil
}

// Of lists the problems of agents.
func (x *JobExam) Of(ctx context.Context, loaded job.Loaded) []pluginhost.Finding {
	var findings []pluginhost.Finding
	for _, p := range x.Trouble {
		findings = append(findings, inFile(pluginhost.SeverityError, "", p))
	}
	for _, b := range loaded.Broken {
		findings = append(findings, brokenManifest(b)...)
	}
	for _, h := range loaded.Hidden {
		findings = append(findings, pluginhost.Finding{Severity: pluginhost.SeverityInfo, Plugin: "agent " + h.Agent, Where: h.Path,
			Problem: "it is not used: " + h.By.Path + " has the same name and comes first", Fix: "remove one of them"})
	}
	for _, m := range loaded.Manifests {
		for _, w := range m.Warnings {
			findings = append(findings, asFinding(pluginhost.SeverityWarning, m.Agent.Name, w))
		}
		findings = append(findings, x.program(m)...)
		findings = append(findings, x.workingDir(m)...)
		if m.Security.Restricts() && !x.Confined {
			findings = append(findings, complain(pluginhost.SeverityInfo, m, job.Place{Key: "security"},
				"network and filesystem_writable are not enforced", `write sandbox = "declared" into the configuration`)...)
		}
		findings = append(findings, x.plugins(ctx, m)...)
		for i := range m.Notifiers {
			findings = append(findings, x.notifier(ctx, m, &m.Notifiers[i])...)
		}
	}
	return x.Host.Hidden().CleanFindings(findings)
}

// exam returns a JobExam with the daemon's host, secrets and settings.
func (j *Jobs) exam() *JobExam {
	j.mu.Lock()
	defer j.mu.Unlock()
	return &JobExam{Host: j.core.Host, Environ: j.Runner.Environ, Secrets: j.secrets, Trouble: j.trouble, Procs: j.core.procs,
		Confined: j.core.Config().Sandbox == config.SandboxDeclared, checked: j.accepted.set}
}

// Examine reads the manifests, searches for the plugins that they name, and lists the problems of
// both.
func (j *Jobs) Examine(ctx context.Context) []pluginhost.Finding {
	if err := j.core.Host.Refresh(ctx, job.PluginDialect); err != nil && ctx.Err() == nil {
		j.core.log.Warn("cannot search for plugins again", "err", err)
	}
	return j.exam().Of(ctx, job.LoadDirs(j.Dirs()))
}

// examineAll checks the manifests each time they have been read, as the doctor does, so that a
// wrong config is reported before a run needs it (docs/protocols/dotagent.md, row D29). It logs
// only problems that the previous check did not find.
func (j *Jobs) examineAll(ctx context.Context, changed <-chan struct{}) {
	var told []pluginhost.Finding
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		found := j.Examine(ctx)
		for _, f := range found {
			if f.Severity != pluginhost.SeverityInfo && ctx.Err() == nil && !slices.Contains(told, f) {
				j.core.log.Warn("a manifest has a problem", "agent", strings.TrimPrefix(f.Plugin, "agent "), "path", f.Where, "err", f.Problem, "fix", f.Fix)
			}
		}
		told = found
	}
}

func brokenManifest(b job.Broken) []pluginhost.Finding {
	bad, ok := errors.AsType[*document.Error](b.Err)
	if !ok {
		return []pluginhost.Finding{{Severity: pluginhost.SeverityError, Where: b.Path, Problem: b.Err.Error()}}
	}
	var findings []pluginhost.Finding
	for _, p := range bad.Problems {
		findings = append(findings, asFinding(pluginhost.SeverityError, agentOf(b.Path), p))
	}
	return findings
}

func asFinding(s pluginhost.Severity, agent string, p document.Problem) pluginhost.Finding {
	return inFile(s, "agent "+agent, p)
}

// inFile returns a finding about a file.
func inFile(s pluginhost.Severity, plugin string, p document.Problem) pluginhost.Finding {
	where := p.File
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
	return pluginhost.Finding{Severity: s, Plugin: plugin, Where: where, Problem: p.Message, Fix: p.Fix}
}

// complain returns a finding about a place in a manifest.
func complain(s pluginhost.Severity, m *job.Manifest, at job.Place, problem, fix string) []pluginhost.Finding {
	return []pluginhost.Finding{asFinding(s, m.Agent.Name, m.Problem(at, problem, fix))}
}

// program checks that the agent's own program exists and is executable.
func (x *JobExam) program(m *job.Manifest) []pluginhost.Finding {
	at := m.Run.At
	command := m.Run.Command
	if !filepath.IsAbs(command) {
		path, own := m.Env.Extra["PATH"]
		if !own {
			path = dialect.Env{Vars: x.Environ}.Get("PATH")
		}
		for _, dir := range filepath.SplitList(path) {
			if dialect.Executable(filepath.Join(dir, command)) {
				return nil
			}
		}
		return complain(pluginhost.SeverityError, m, at, fmt.Sprintf("no program %s in $PATH", command), "install it, or write its whole path")
	}
	switch _, err := os.Stat(command); {
	case errors.Is(err, fs.ErrNotExist):
		return complain(pluginhost.SeverityError, m, at, "there is no "+command, "create that program, or correct the path")
	case err != nil:
		return complain(pluginhost.SeverityError, m, at, err.Error(), "write the path of a program that you can read")
	}
	if !dialect.Executable(command) {
		return complain(pluginhost.SeverityError, m, at, command+" is not executable", "run: chmod +x "+command)
	}
	return nil
}

// workingDir checks that the directory in which the program runs exists.
func (x *JobExam) workingDir(m *job.Manifest) []pluginhost.Finding {
	dir := m.Run.WorkingDir
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist), err == nil && !info.IsDir():
		return complain(pluginhost.SeverityError, m, m.Run.DirAt, "there is no directory "+dir, "create it, or correct the path")
	case err != nil:
		return complain(pluginhost.SeverityError, m, m.Run.DirAt, err.Error(), "write the path of a directory that you can enter")
	}
	return nil
}

// plugins checks that the plugins of a manifest exist, are of the right kind, and accept their
// configs.
func (x *JobExam) plugins(ctx context.Context, m *job.Manifest) []pluginhost.Finding {
	var findings []pluginhost.Finding
	fits := true
	for _, u := range pluginUses(m) {
		if o := obstacleTo(x.Host, u.Plugin, u.point); o != nil {
			findings, fits = append(findings, complain(o.severity, m, u.At, fixes.Without(o.Error(), o.fix), o.fix)...), false
		} else if err := x.checkConfig(ctx, u); err != nil {
			findings = append(findings, asFinding(pluginhost.SeverityError, m.Agent.Name, configProblem(m, u, err)))
			fits = fits && !errors.Is(err, hook.Refused)
		}
	}
	if x.checked != nil && ctx.Err() == nil {
		x.checked(m, fits)
	}
	return findings
}

func text(s *string) string {
	if s == nil {
		return "unknown reason"
	}
	return *s
}

// notifier checks that a notifier is configured correctly and, if Reach is set, that its service
// answers.
func (x *JobExam) notifier(ctx context.Context, m *job.Manifest, n *job.Notifier) []pluginhost.Finding {
	if n.Driver == job.DriverPlugin {
		return nil // checked with the other plugins
	}
	made, err := notify.New(string(n.Driver), n.Settings, notify.Options{Lookup: lookup(x.Secrets, x.Environ), Procs: x.Procs, Environ: x.Environ})
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return complain(pluginhost.SeverityInfo, m, n.At, err.Error(), "")
	case err != nil:
		problem, fix := fixes.Split(err)
		return complain(pluginhost.SeverityError, m, n.At, problem, cmp.Or(fix, notifierFix))
	case !x.Reach && n.Driver != job.DriverDesktop: // the desktop is on this machine: no request leaves it
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	if err := made.Reach(ctx); err != nil {
		return complain(pluginhost.SeverityWarning, m, n.At, err.Error(), reachFix(n.Driver))
	}
	return nil
}

const notifierFix = "docs/jobs.md lists what each driver takes"

// reachFix tells what to do if the service of a notifier cannot be reached.
func reachFix(d job.Driver) string {
	if d == job.DriverDesktop {
		return "start the daemon in a desktop session, or choose another driver"
	}
	return "check the address, the token and the network"
}

// A Preview is one message that a run of an agent would send.
type Preview struct {
	Event  job.Event       `json:"event"`
	To     string          `json:"to"`
	Plugin string          `json:"plugin,omitempty"`
	Sent   *notify.Preview `json:"sent,omitempty"`
	Given  *job.Given      `json:"given,omitempty"` // what a plugin would get; ${NAME} in its config is not replaced
	Error  string          `json:"error,omitempty"`
}

// DryRun makes an attempt with AGENT_DRY_RUN set. It returns what sinks and people would get, but
// sends and records nothing.
func (j *Jobs) DryRun(ctx context.Context, m *job.Manifest, s *job.Schedule) (job.Attempt, []Preview) {
	attempt, tellings := j.Runner.DryRun(ctx, m, s)
	var previews []Preview
	for _, t := range tellings {
		if t.Event == job.Success {
			previews = append(previews, sinkPreviews(m, s, t.Output)...)
		}
		previews = append(previews, j.previews(t)...)
	}
	return attempt, previews
}

// sinkPreviews returns what the sinks of a manifest would get.
func sinkPreviews(m *job.Manifest, s *job.Schedule, output string) []Preview {
	var previews []Preview
	for i := range m.OnSuccess {
		if h := &m.OnSuccess[i]; h.Wants(job.Success) {
			given := h.GivenToSink(m, s, output)
			previews = append(previews, Preview{Event: job.Success, To: "sink", Plugin: h.Plugin, Given: &given})
		}
	}
	return previews
}

func (j *Jobs) previews(t job.Report) []Preview {
	var previews []Preview
	for _, r := range j.reporter.Routes(&t) {
		p := Preview{Event: t.Event, To: r.Name}
		switch s := r.Sender.(type) {
		case notify.Notifier:
			sent := s.Describe(t.Message())
			p.Sent = &sent
		case interface {
			Describe(notify.Message) job.Given
		}: // a plugin
			given := s.Describe(t.Message())
			p.Given = &given
		}
		if r.Name != job.ConnectedRoute {
			previews = append(previews, p)
		}
	}
	return previews
}
