package daemon

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// plugin decodes the answer of GET /v1/plugins/{name}.
func (r reply) plugin(t *testing.T) pluginhost.PluginDetail {
	t.Helper()
	var p pluginhost.PluginDetail
	if err := json.Unmarshal([]byte(r.body), &p); err != nil || r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	return p
}

func TestRestartOverHTTP(t *testing.T) {
	s := kagedHome(t).serve("", Limits{})
	before := s.do("GET", "/v1/plugins/notes", "").plugin(t)
	after := s.do("POST", "/v1/plugins/notes/restart", "").plugin(t)
	if before.Pid == nil || after.Pid == nil || *before.Pid == *after.Pid || after.State != "ready" {
		t.Errorf("from %+v to %+v", before.PluginInfo, after.PluginInfo)
	}
	if got := s.do("POST", "/v1/plugins/notes/call", `{"method":"notes.config"}`); got.status != 200 {
		t.Errorf("the restarted plugin does not work: %d %s", got.status, got.body)
	}
	if got := s.do("POST", "/v1/plugins/nobody/restart", ""); got.status != 404 {
		t.Errorf("restart of an unknown plugin: %d %s", got.status, got.body)
	}
	s.changeConfig(`{"changes":[{"set":"enabled","plugin":"notes","value":false}]}`)
	if got := s.do("POST", "/v1/plugins/notes/restart", ""); got.status != 409 || !strings.Contains(got.body, "disabled") {
		t.Errorf("a disabled one: %d %s", got.status, got.body)
	}
}

// TestExecutableOverHTTP checks that a finding about a file mode offers an action, and that the
// action changes only that mode.
func TestExecutableOverHTTP(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no file modes")
	}
	plugtest.NeedTool(t, "sh")
	h := kagedHome(t)
	const script = "#!/bin/sh\ncase $1 in info) echo '{\"name\":\"shout\",\"version\":\"1.0.0\",\"kinds\":[\"sink\"]}';; esac\n"
	file := h.write(".config/dotagent/plugins/dotagent-plugin-shout", script)
	other := h.write("other.sh", script)
	passed := h.write(".local/scaffold/plugins/quiet.sh", script)
	s := h.serve("", Limits{})
	findings := s.do("GET", "/v1/doctor", "").body
	for _, want := range []string{`"action":{"kind":"executable","plugin":"dotagent:shout"}`, `"action":{"kind":"executable","plugin":"scaffold:quiet"}`} {
		if !strings.Contains(findings, want) {
			t.Errorf("no %s in %s", want, findings)
		}
	}
	if got := s.do("POST", "/v1/plugins/notes/executable", ""); got.status != 409 {
		t.Errorf("a working plugin was made executable: %d %s", got.status, got.body)
	}
	if got := s.do("POST", "/v1/plugins/dotagent:shout/executable", "").plugin(t); got.State == "broken" {
		t.Errorf("%+v", got.PluginInfo)
	}
	if got := s.do("POST", "/v1/plugins/scaffold:quiet/executable", ""); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
	for path, want := range map[string]os.FileMode{file: 0o700, passed: 0o700, other: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	link := filepath.Join(h.home, ".config/dotagent/plugins/dotagent-plugin-linked")
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	if err := s.Host.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.do("POST", "/v1/plugins/linked/executable", ""); got.status == 200 {
		t.Errorf("through a link: %d %s", got.status, got.body)
	}
	if info, err := os.Stat(other); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("through a link: %v, %v", info.Mode(), err)
	}
}

func TestADisabledPluginCanBeEnabledByItsFinding(t *testing.T) {
	h := kagedHome(t)
	h.write(".config/patchbay/config.toml", "sandbox = \"off\"\n[plugins.notes]\nenabled = false\n")
	s := h.serve("", Limits{})
	if got := s.do("GET", "/v1/doctor", "").body; !strings.Contains(got, `"action":{"kind":"enable","plugin":"kaged:notes"}`) {
		t.Errorf("%s", got)
	}
	s.changeConfig(`{"changes":[{"set":"enabled","plugin":"kaged:notes","value":true}]}`)
	if got := s.do("GET", "/v1/plugins/notes", "").plugin(t); got.State != "ready" {
		t.Errorf("%+v", got.PluginInfo)
	}
}
