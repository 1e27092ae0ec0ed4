package pluginhost_test

import (
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestFindingsAboutSecrets: a key of secrets.toml that its plugin does not know, and a table that
// is not used, are warnings with their places.
func TestFindingsAboutSecrets(t *testing.T) {
	for _, c := range []struct{ rule, secrets, where, problem, fix string }{
		{rule: "a secret of the plugin", secrets: "[plugins.keeper]\nkey = \"x\"\n"},
		{"a table called config", "[plugins.keeper.config]\nkey = \"x\"\n", "secrets.toml:1:17",
			"plugins.keeper.config: plugin keeper has no secret of this name", "write its keys directly below [plugins.keeper], without config"},
		{"a misspelt key", "[plugins.keeper]\nkye = \"x\"\n", "secrets.toml:2:7", "plugins.keeper.kye: plugin keeper has no secret", `did you mean "key"?`},
		{"a key of the other file", "[plugins.keeper]\non_failure = \"deny\"\n", "secrets.toml:2:14", "plugins.keeper.on_failure: plugin keeper has no secret",
			"write it into config.toml, if it belongs there: the plugin's secrets are key"},
		{"a second table for the plugin", "[plugins.keeper]\nkey = \"x\"\n[plugins.\"kaged:keeper\"]\nkey = \"y\"\n", "secrets.toml:1:10",
			`[plugins.keeper] has no effect: [plugins."kaged:keeper"] is about the same plugin, and comes first`, `below [plugins."kaged:keeper"]`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			h := newTestHome(t)
			h.keeper("keeper", "keeper")
			h.config("sandbox = \"off\"\n")
			h.secrets(c.secrets)
			var log plugtest.Log
			o := h.options()
			o.Logger = logger(&log)
			var found []pluginhost.Finding
			for _, f := range h.openWith(o).Doctor() {
				if f.Severity != pluginhost.SeverityInfo {
					found = append(found, f)
				}
			}
			if warned := strings.Contains(log.String(), "plugins."); warned != (c.problem != "") {
				t.Errorf("log %s", &log)
			}
			if c.problem == "" && len(found) == 0 {
				return
			}
			if len(found) != 1 || found[0].Severity != pluginhost.SeverityWarning || !strings.HasSuffix(found[0].Where, c.where) ||
				!strings.Contains(found[0].Problem, c.problem) || !strings.Contains(found[0].Fix, c.fix) {
				t.Errorf("findings %+v", found)
			}
		})
	}
}
