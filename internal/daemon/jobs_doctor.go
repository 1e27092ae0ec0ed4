package daemon

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/patchbay-dev/patchbay/internal/notify"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// reachTime bounds how long a notifier's service may take to answer.
const reachTime = 10 * time.Second

// A JobExam looks at agents: their manifests, programs, plugins and notifiers. It runs nothing but
// the plugins' own checks.
type JobExam struct {
	Host     *pluginhost.Host
	Environ  []string
	Secrets  *config.Secrets
	Trouble  []config.Problem // what is wrong with the files that secrets come from
	Procs    *proc.Group
	Confined bool // agents are held to their [security]
	Reach    bool // also ask whether the services of notifiers can be reached; nothing is sent to anybody
}

// Of lists what is wrong with agents.
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
		if m.Security.Restricts() && !x.Confined {
			findings = append(findings, complain(pluginhost.SeverityInfo, m, job.Place{Key: "security"},
				"network and filesystem_writable are not enforced", `write sandbox = "declared" into the configuration`)...)
		}
		for _, list := range []struct {
			hooks []job.Hook
			point hook.Point
		}{{m.Preflight, hook.JobPreflight}, {m.OnSuccess, hook.JobSink}, {m.OnFailure, hook.JobNotify}} {
			for i := range list.hooks {
				findings = append(findings, x.hook(ctx, m, &list.hooks[i], list.point)...)
			}
		}
		for i := range m.Notifiers {
			findings = append(findings, x.notifier(ctx, m, &m.Notifiers[i])...)
		}
	}
	return findings
}

// exam looks at agents with what the daemon has.
func (j *Jobs) exam() *JobExam {
	j.mu.Lock()
	defer j.mu.Unlock()
	return &JobExam{Host: j.core.Host, Environ: j.Runner.Environ, Secrets: j.secrets, Trouble: j.trouble, Procs: j.core.procs,
		Confined: j.core.Config().Sandbox == config.SandboxDeclared}
}

// Examine lists what is wrong with the agents that there are now, and with the plugins that they
// name.
func (j *Jobs) Examine(ctx context.Context) []pluginhost.Finding {
	if err := j.core.Host.Refresh(ctx, job.PluginDialect); err != nil && ctx.Err() == nil {
		j.core.log.Warn("plugins are not looked for again", "err", err)
	}
	return j.exam().Of(ctx, job.LoadDirs(j.Dirs()))
}

// examineAll checks the manifests each time that they have been read, as the doctor does, and logs
// what is wrong: "dotagent calls this when loading manifests so misconfigurations surface". What was
// wrong the last time is not logged again.
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
				j.core.log.Warn("a manifest is at fault", "agent", strings.TrimPrefix(f.Plugin, "agent "), "path", f.Where, "err", f.Problem, "fix", f.Fix)
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

// inFile is a finding about a file.
func inFile(s pluginhost.Severity, plugin string, p document.Problem) pluginhost.Finding {
	where := p.File
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
	return pluginhost.Finding{Severity: s, Plugin: plugin, Where: where, Problem: p.Message, Fix: p.Fix}
}

// complain is a finding about something in a manifest.
func complain(s pluginhost.Severity, m *job.Manifest, at job.Place, problem, fix string) []pluginhost.Finding {
	return []pluginhost.Finding{asFinding(s, m.Agent.Name, m.Problem(at, problem, fix))}
}

// program sees whether the agent's own program is there.
func (x *JobExam) program(m *job.Manifest) []pluginhost.Finding {
	at := m.Run.At
	command := m.Run.Command
	if !filepath.IsAbs(command) {
		path := dialect.Env{Vars: x.Environ}.Get("PATH")
		for _, dir := range filepath.SplitList(path) {
			if dialect.Executable(filepath.Join(dir, command)) {
				return nil
			}
		}
		return complain(pluginhost.SeverityError, m, at, fmt.Sprintf("no program %s in $PATH", command), "install it, or write its whole path")
	}
	if _, err := os.Stat(command); err != nil {
		return complain(pluginhost.SeverityError, m, at, err.Error(), "install it, or write where it is")
	}
	if !dialect.Executable(command) {
		return complain(pluginhost.SeverityError, m, at, command+" is not executable", "run: chmod +x "+command)
	}
	return nil
}

// hook sees whether a plugin is there, is of the right kind, and likes its configuration.
func (x *JobExam) hook(ctx context.Context, m *job.Manifest, h *job.Hook, point hook.Point) []pluginhost.Finding {
	if o := obstacleTo(x.Host, h.Plugin, point); o != nil {
		return complain(o.severity, m, h.At, o.Error(), o.fix)
	}
	if err := x.Host.CheckConfig(ctx, job.PluginDialect+":"+h.Plugin, h.Config); err != nil {
		return complain(pluginhost.SeverityError, m, h.At, fmt.Sprintf("plugin %s: %v", h.Plugin, err),
			fmt.Sprintf("correct the config there: `dotagent-plugin-%s info` shows its schema", h.Plugin))
	}
	return nil
}

func text(s *string) string {
	if s == nil {
		return "no reason is known"
	}
	return *s
}

// notifier sees whether a notifier can be used and, on request, reached.
func (x *JobExam) notifier(ctx context.Context, m *job.Manifest, n *job.Notifier) []pluginhost.Finding {
	if n.Driver == job.DriverPlugin {
		h, err := n.Hook()
		if err != nil {
			return complain(pluginhost.SeverityError, m, n.At, err.Error(), notifierFix)
		}
		return x.hook(ctx, m, h, hook.JobNotify)
	}
	made, err := notify.New(string(n.Driver), n.Settings, notify.Options{Lookup: lookup(x.Secrets, x.Environ), Procs: x.Procs, Environ: x.Environ})
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return complain(pluginhost.SeverityInfo, m, n.At, err.Error(), "")
	case err != nil:
		return complain(pluginhost.SeverityError, m, n.At, err.Error(), notifierFix)
	case !x.Reach && n.Driver != job.DriverDesktop: // a desktop is on this machine, or there is none
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

// reachFix says what to do about a notifier whose service cannot be reached.
func reachFix(d job.Driver) string {
	if d == job.DriverDesktop {
		return "start the daemon in a desktop session, or choose another driver"
	}
	return "look at the address, the token and the network"
}

// Preview is what a run of an agent would tell, and to whom.
type Preview struct {
	Event  job.Event       `json:"event"`
	To     string          `json:"to"`
	Plugin string          `json:"plugin,omitempty"`
	Sent   *notify.Preview `json:"sent,omitempty"`
	Given  *job.Given      `json:"given,omitempty"` // what a plugin is told; ${NAME} in its config as the manifest has it
	Error  string          `json:"error,omitempty"`
}

// DryRun makes an attempt with AGENT_DRY_RUN set and lists what would be handed to sinks and told
// to people. Nothing of it is recorded, and nobody is told.
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

// sinkPreviews are what the sinks of a manifest would be given.
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
