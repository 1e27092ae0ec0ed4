package daemon

import (
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// TestJobExamWarns checks that a desktop that cannot show messages is found without --reach, and
// that a setting without effect is reported.
func TestJobExamWarns(t *testing.T) {
	h := newTestHome(t)
	h.write(".config/patchbay/agents/shows/agent.toml", "[agent]\nname = \"shows\"\n[run]\ncommand = \"/bin/sh\"\n[defaults]\nmax_retries = 0\n[[notifiers]]\ndriver = \"desktop\"\n")
	c := h.open("")
	x := JobExam{Host: c.Host, Environ: []string{"PATH=/nowhere", "HOME=/nowhere"}, Procs: c.procs}
	findings := x.Of(t.Context(), c.Jobs.Loaded())
	for _, want := range []struct{ where, problem string }{
		{"shows/agent.toml:6:15", "0 counts as 1"},
		{"shows/agent.toml:7:3", "notifiers[0]: notifier desktop: session bus: neither DBUS_SESSION_BUS_ADDRESS"},
	} {
		if !slices.ContainsFunc(findings, func(f pluginhost.Finding) bool {
			return strings.HasSuffix(f.Where, want.where) && strings.Contains(f.Problem, want.problem) && f.Severity == pluginhost.SeverityWarning
		}) {
			t.Errorf("no finding %+v in %+v", want, findings)
		}
	}
	if m := c.Jobs.Loaded().Manifests; len(m) != 1 || m[0].Defaults.Attempts != 1 || len(m[0].Notifiers) != 1 || m[0].Notifiers[0].Driver != job.DriverDesktop {
		t.Errorf("%+v", m)
	}
}
