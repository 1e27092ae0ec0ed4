package daemon

import (
	"github.com/patchbay-dev/patchbay/internal/hookinstall"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// HookFindings lists the problems with Patchbay's entries in the files of other agents, in the
// user's home and in a project: programs that do not exist, missing entries, and events that would
// be sent twice. A file that cannot be read is a warning, because it may have entries. HookFindings
// starts nothing, and ignores files without entries of Patchbay.
func HookFindings(home, project string, getenv func(string) string) []pluginhost.Finding {
	var findings []pluginhost.Finding
	add := func(where string, f hookinstall.Fault) {
		findings = append(findings, pluginhost.Finding{Severity: pluginhost.SeverityError, Where: where, Problem: f.Problem, Fix: f.Fix})
	}
	all, unread := hookinstall.All(home, project, getenv)
	for _, err := range unread {
		findings = append(findings, pluginhost.Finding{Severity: pluginhost.SeverityWarning, Problem: err.Error(), Fix: hookinstall.UnreadFix})
	}
	for _, in := range all {
		for _, f := range in.Faults {
			add(in.Place.Path(), f)
		}
	}
	for _, f := range hookinstall.Doubles(all) {
		add("", f)
	}
	return findings
}
