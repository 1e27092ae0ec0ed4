package daemon

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
)

// TestAllAboutAPlugin checks the facts of GET /v1/plugins/{name} that the plugin does not declare
// itself. They contain no secrets.
func TestAllAboutAPlugin(t *testing.T) {
	h := kagedHome(t)
	h.write(".config/patchbay/config.toml", "sandbox = \"off\"\n[plugins.notes]\nconfig = { level = 4, api_key = \"sk-hush\" }\n")
	h.write(".config/patchbay/secrets.toml", "WORD = \"tells its config\"\n")
	s := h.serve("", Limits{})
	s.do("POST", "/v1/plugins/notes/call", `{"method":"notes.config"}`)
	got := s.do("GET", "/v1/plugins/notes", "")
	p := got.plugin(t)
	if strings.Contains(got.body, "sk-hush") || p.Config["api_key"] != "…" || p.Config["level"] != float64(4) || p.ConfigFrom["level"] != "user" || !p.Enabled {
		t.Errorf("config: %+v", p.Config)
	}
	if p.Manifest == nil || !strings.HasSuffix(p.Manifest.Path, "notes/manifest.yaml") || !strings.Contains(p.Manifest.Text, "description: [secret]") {
		t.Errorf("manifest: %+v", p.Manifest)
	}
	if !strings.Contains(string(p.ConfigSchema), `"level"`) || len(p.Recent) != 1 || p.Recent[0] == 0 || p.Denials == nil {
		t.Errorf("schema %s, recent %v, denials %v", p.ConfigSchema, p.Recent, p.Denials)
	}
	var l httpapi.Latencies
	if err := json.Unmarshal([]byte(s.do("GET", "/v1/latencies", "").body), &l); err != nil || len(l.Plugins["notes"]) != 1 {
		t.Errorf("%+v, %v", l, err)
	}
}
