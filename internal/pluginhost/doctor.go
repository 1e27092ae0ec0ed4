package pluginhost

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/fixes"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// A Severity says how bad a finding is.
type Severity string

// The severities. Only errors make `patchbay doctor` fail.
const (
	SeverityError   Severity = "error"   // something does not work
	SeverityWarning Severity = "warning" // something works differently from what its author expects
	SeverityInfo    Severity = "info"    // nothing is wrong: for example, a plugin is left out on purpose
)

// A Finding is one problem, and how to fix it.
type Finding struct {
	Severity Severity `json:"severity" enum:"error,warning,info" doc:"Only an error makes a diagnosis not ok." example:"error"`
	Plugin   string   `json:"plugin" doc:"The plugin; empty if the finding is not about a plugin." example:"shout"`
	Dialect  string   `json:"dialect" doc:"The plugin's protocol; may be empty." example:"dotagent"`
	Where    string   `json:"where" doc:"A file, with line and column if they are known." example:"/home/mira/.config/dotagent/plugins/dotagent-plugin-shout"`
	Problem  string   `json:"problem" doc:"What is wrong, as text." example:"it is not executable"`
	Fix      string   `json:"fix" doc:"How to fix it; may be empty." example:"chmod +x /home/mira/.config/dotagent/plugins/dotagent-plugin-shout"`
	Action   Action   `json:"action,omitzero" doc:"A request that fixes it; absent if there is none."`
}

// An Action fixes a finding at once: see [Host.MakeExecutable], [Host.Switch] and [Host.Restart].
type Action struct {
	Kind   string `json:"kind" enum:"executable,enable,restart" doc:"executable and restart are routes of the plugin; enable is a change of the configuration." example:"executable"`
	Plugin string `json:"plugin" doc:"The plugin, as DIALECT:NAME." example:"dotagent:shout"`
}

// The kinds of actions.
const (
	ActionExecutable = "executable"
	ActionEnable     = "enable"
	ActionRestart    = "restart"
)

// Doctor lists all known problems of the plugins of this host. It calls no plugin;
// [Host.CheckHealth] does.
func (h *Host) Doctor() []Finding {
	return h.Hidden().CleanFindings(h.findings())
}

// CleanFindings removes secrets from findings, which may quote what a plugin said.
func (h *Hidden) CleanFindings(findings []Finding) []Finding {
	for i := range findings {
		findings[i].Problem, findings[i].Fix = h.Clean(findings[i].Problem), h.Clean(findings[i].Fix)
	}
	return findings
}

func (h *Host) findings() []Finding {
	findings := append([]Finding{}, h.examineConfig()...)
	now := h.roster()
	for _, e := range now.entries {
		findings = append(findings, h.examine(e)...)
		findings = append(findings, h.examineTrust(e)...)
		findings = append(findings, h.examineBounds(e)...)
	}
	findings = append(findings, h.examineConnections(now)...) // after the findings about plugins, which may be the cause of these
	findings = append(findings, h.examineProject()...)
	for _, k := range now.kept {
		findings = append(findings, k.finding())
	}
	chosen, err := h.setup().chosen()
	if err != nil {
		return findings // unreachable: Open checked the same names
	}
	for _, d := range chosen {
		var problems []dialect.Problem
		if x, ok := d.(dialect.Examiner); ok {
			problems = x.Examine(h.setup().env)
		}
		if x, ok := d.(dialect.Prober); ok {
			problems = append(problems, x.Probe(h.setup().env)...)
		}
		for _, p := range problems {
			f := finding(SeverityWarning, nil, d.Name(), p)
			if name := scriptName(d.Name(), p); name != "" {
				f.Action = Action{ActionExecutable, name}
			}
			findings = append(findings, f)
		}
	}
	return findings
}

// examine lists the problems of one plugin.
func (h *Host) examine(e *entry) []Finding {
	var findings []Finding
	problems, warnings := h.problems(e)
	for _, p := range problems {
		findings = append(findings, finding(SeverityError, e, e.found.Dialect, p))
	}
	for _, p := range warnings {
		findings = append(findings, finding(SeverityWarning, e, e.found.Dialect, p))
	}
	named := func(p dialect.Problem) bool { return strings.Contains(p.Message, "it calls itself") }
	if e.plugin != nil && e.info.Called != "" && !slices.ContainsFunc(warnings, named) { // the dialect may have reported it
		findings = append(findings, finding(SeverityWarning, e, e.found.Dialect, dialect.Problem{Path: e.found.Path,
			Message: fmt.Sprintf("it calls itself %q, but its file is called %q", e.info.Called, e.info.Name), Fix: "give it the name of its file, or rename the file"}))
	}
	switch {
	case e.state == dialect.Broken && len(e.found.Problems) == 0:
		findings = append(findings, stateFinding(SeverityError, e))
	case e.state == dialect.Skipped:
		findings = append(findings, stateFinding(SeverityWarning, e))
	case e.state == dialect.Unsupported, e.state == dialect.Disabled:
		findings = append(findings, stateFinding(SeverityInfo, e))
	case e.plugin != nil:
		findings = append(findings, examineStatus(e)...)
	}
	return findings
}

// examineStatus lists the problems of a plugin that is ready.
func examineStatus(e *entry) []Finding {
	status := e.plugin.Status()
	err := cmp.Or(status.Err, status.Doubt)
	if err == nil {
		return nil
	}
	message, fix := splitFix(err)
	f := finding(severityOf(err), e, e.found.Dialect, dialect.Problem{Path: e.found.Path, Message: message, Fix: fix})
	if status.Err != nil {
		f.Action = Action{ActionRestart, e.address()}
	}
	return []Finding{f}
}

// severityOf returns the severity of a failure of a plugin that is ready. A program that cannot be
// started will never answer; other failures may pass.
func severityOf(err error) Severity {
	if _, ok := errors.AsType[*program.StartError](err); ok {
		return SeverityError
	}
	return SeverityWarning
}

// stateFinding explains why a plugin is not ready.
func stateFinding(s Severity, e *entry) Finding {
	p := dialect.Problem{Path: e.found.Path, Message: string(e.state)}
	if e.err != nil {
		p.Message, p.Fix = splitFix(e.err)
	}
	f := finding(s, e, e.found.Dialect, p)
	f.Action = e.action()
	return f
}

// action returns what makes the plugin ready at once, or the zero Action.
func (e *entry) action() Action {
	_, disabled := e.own.disabled()
	_, inexecutable := e.notExecutable()
	switch {
	case e.state == dialect.Disabled && disabled:
		return Action{ActionEnable, e.address()}
	case inexecutable:
		return Action{ActionExecutable, e.address()}
	case e.state == dialect.Broken && e.err != nil:
		if _, fix := splitFix(e.err); fix == "" { // otherwise the user must do something first
			return Action{ActionRestart, e.address()}
		}
	}
	return Action{}
}

// address returns a name that means this plugin and no other.
func (e *entry) address() string { return e.found.Dialect + ":" + e.names.place }

// splitFix splits an error into its message and its fix. The fix is "" if the error has none.
func splitFix(err error) (message, fix string) {
	if start, ok := errors.AsType[*program.StartError](err); ok {
		fix = start.Fix
	}
	fix = cmp.Or(fixes.Of(err), fix)
	return fixes.Without(err.Error(), fix), fix
}

func finding(s Severity, e *entry, dialectName string, p dialect.Problem) Finding {
	f := Finding{Severity: s, Dialect: dialectName, Where: p.Path, Problem: p.Message, Fix: p.Fix}
	if e != nil {
		f.Plugin = e.info.Name
	}
	if p.Line > 0 {
		f.Where = fmt.Sprintf("%s:%d:%d", p.Path, p.Line, p.Column)
	}
	if f.Fix == "" && s != SeverityInfo {
		f.Fix = lookAt(e, dialectName, p)
	}
	return f
}

// lookAt returns where to look for the cause of a problem that has no known fix.
func lookAt(e *entry, dialectName string, p dialect.Problem) string {
	if p.Line > 0 {
		return pageFix(dialectName)
	}
	if e == nil {
		return ""
	}
	broken := e.state == dialect.Broken && e.found.Path != ""
	target := program.Quote(e.info.Name)
	look := "`patchbay plugin info -v " + target + "`"
	if e.named { // it may not be installed
		target = program.Quote(e.found.Path)
		look = "`patchbay plugin validate -v " + target + "`"
	}
	switch {
	case broken && !errors.Is(e.err, hook.Crash):
		return "`patchbay plugin test " + target + "` shows which rule of its protocol it breaks, and how to fix that"
	case broken:
		return "run it by hand, or " + look + ", to see what it says"
	}
	return look + " shows what it says"
}
