package pluginhost_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestFindingsAboutNames: Doctor reports a table whose name means no plugin, two, or one to which
// it cannot grant anything.
func TestFindingsAboutNames(t *testing.T) {
	for _, c := range []struct {
		rule, config, secrets    string
		where, problem, fix, log string
	}{
		{rule: "no plugin has it", config: "\n[plugins.file]\npriority = 1\n[plugins.flie]\n", where: "config.toml:4:10", problem: "no plugin is called flie", fix: `did you mean "file"?`},
		{rule: "no plugin has it: secrets", secrets: "[plugins.keper]\nkey = \"x\"\n", where: "secrets.toml:1:10", problem: "no plugin is called keper", fix: `did you mean "keeper"?`},
		{rule: "two have it", config: "[plugins.keeper]\npriority = 1\n", where: "config.toml:1:10", problem: "means 2 plugins", fix: `[plugins."kaged:keeper"]`, log: "means 2 plugins"},
		{rule: "two have it: secrets", secrets: "[plugins.keeper]\nkey = \"x\"\n", where: "secrets.toml:1:10", problem: "means 2 plugins", fix: `[plugins."kaged:keeper"]`, log: "means 2 plugins"},
		{rule: "env under the name it calls itself", config: "[plugins.real]\nenv = [\"TOKEN\"]\n", where: "config.toml:1:10", problem: "env", fix: "[plugins.file]", log: "env"},
		{rule: "secrets under the name it calls itself", secrets: "[plugins.real]\nkey = \"x\"\n", where: "secrets.toml:1:10", problem: "secrets", fix: "[plugins.file]", log: "secrets"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			h := newTestHome(t)
			h.scaffold("file", "real", 500)
			h.scaffold("keeper", "keeper", 500)
			h.keeper("keeper", "keeper")
			h.config("sandbox = \"off\"\n" + c.config)
			if c.config != "" {
				h.config(c.config)
			}
			if c.secrets != "" {
				h.secrets(c.secrets)
			}
			var log plugtest.Log
			o := h.options()
			o.Logger = logger(&log)
			host := h.openWith(o)
			var found []pluginhost.Finding
			for _, f := range host.Doctor() {
				if strings.Contains(f.Where, "config.toml") || strings.Contains(f.Where, "secrets.toml") {
					found = append(found, f)
				}
			}
			if len(found) != 1 || found[0].Severity != pluginhost.SeverityWarning || !strings.HasSuffix(found[0].Where, c.where) ||
				!strings.Contains(found[0].Problem, c.problem) || !strings.Contains(found[0].Fix, c.fix) {
				t.Errorf("findings %+v", found)
			}
			if got := log.String(); c.log != "" && !strings.Contains(got, c.log) || c.log == "" && strings.Contains(got, "plugins.") {
				t.Errorf("log %s", got)
			}
		})
	}
	t.Run("no finding if every section means one plugin", func(t *testing.T) {
		h := newTestHome(t)
		h.scaffold("file", "real", 500)
		h.keeper("keeper", "keeper")
		h.config("sandbox = \"off\"\n[plugins.file]\nenv = [\"A\"]\n[plugins.real]\npriority = 1\n[plugins.\"kaged:keeper\"]\npriority = 2\n")
		h.secrets("[plugins.keeper]\nkey = \"x\"\n")
		for _, f := range h.open().Doctor() {
			if f.Severity != pluginhost.SeverityInfo {
				t.Errorf("finding %+v", f)
			}
		}
	})
}

func logger(log *plugtest.Log) *slog.Logger { return slog.New(slog.NewTextHandler(log, nil)) }
