package pluginhost

import (
	"fmt"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// examineConnections reports the [[connect]] tables whose plugin cannot be called. If several
// plugins have the name, a table is reported even if only one of them cannot be called. Tables that
// are ignored are reported too.
func (h *Host) examineConnections(r *roster) []Finding {
	var findings []Finding
	for i, c := range h.setup().config.Connect {
		if severity, problem, fix := h.examineConnection(r, c); problem != "" {
			f := problemFinding(h.setup().config.Problem(problem, fix, "connect", i))
			f.Severity = severity
			findings = append(findings, f)
		}
	}
	return findings
}

// examineConnection returns what is wrong with one table. problem is "" if nothing is.
func (h *Host) examineConnection(r *roster, c config.Connect) (s Severity, problem, fix string) {
	if h.missing(r, c) {
		fix = "install the plugin, or remove the table"
		if near := nearest.Word(c.Plugin, r.allNames()); near != "" {
			fix = fmt.Sprintf("did you mean %q?", near)
		}
		return SeverityError, fmt.Sprintf("[[connect]] names a plugin that is not installed: %s%s", c.Plugin, meanwhile(c)), fix
	}
	var works, fails []string
	disabled := 0
	for _, e := range r.meant(c.Plugin) {
		if e.hooksAnyway(hook.Hook{Name: c.Hook, Point: hook.Point(c.Point)}) {
			return SeverityWarning, fmt.Sprintf("[[connect]] of %s to %s is ignored: plugin %s has its hook %s there without a connection", c.Plugin, c.Point, c.Plugin, c.Hook),
				"remove the table"
		}
		if e.state == dialect.Disabled {
			disabled++
		}
		if e.plugin != nil {
			works = append(works, e.found.Path)
		} else {
			fails = append(fails, fmt.Sprintf("%s (%s)", e.found.Path, e.state))
		}
	}
	switch {
	case len(fails) == 0:
		return "", "", ""
	case len(works) > 0:
		return SeverityWarning, fmt.Sprintf("[[connect]] to %s connects %s; these plugins have the same name, but cannot be asked: %s", c.Plugin, strings.Join(works, " and "), strings.Join(fails, ", ")),
			"write DIALECT:NAME to name one of them, or remove those that do not work"
	}
	problem = fmt.Sprintf("[[connect]] to %s: its plugin cannot be asked: %s%s", c.Plugin, strings.Join(fails, ", "), meanwhile(c))
	if disabled == len(fails) {
		return SeverityError, problem, fmt.Sprintf("`patchbay plugin enable %s`, or remove the table", program.Quote(c.Plugin))
	}
	return SeverityError, problem,
		fmt.Sprintf("`patchbay plugin info %s` says what is wrong with it", program.Quote(c.Plugin))
}

// meanwhile returns a sentence on what happens to the events of the point while the connected
// plugin cannot be called.
func meanwhile(c config.Connect) string {
	if spec, ok := hook.Point(c.Point).Spec(); ok && spec.Mode == hook.Gate {
		return ". Until that is fixed, every event at " + c.Point + " is refused"
	}
	return ""
}
