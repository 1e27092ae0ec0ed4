package daemon

import (
	"github.com/patchbay-dev/patchbay/internal/hookinstall"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// HookFindings is what is wrong with Patchbay's entries in the files of other agents, the user's
// and a project's: programs that are gone, entries that are missing, and moments that would be told
// twice. Nothing is started for it, and files that have nothing of Patchbay's in them are not
// judged.
func HookFindings(home, project string, getenv func(string) string) []pluginhost.Finding {
	var findings []pluginhost.Finding
	add := func(where string, f hookinstall.Fault) {
		findings = append(findings, pluginhost.Finding{Severity: pluginhost.SeverityError, Where: where, Problem: f.Problem, Fix: f.Fix})
	}
	all, _ := hookinstall.All(home, project, getenv)
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
