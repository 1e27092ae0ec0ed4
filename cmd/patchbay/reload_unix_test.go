//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/daemon"
)

const keepPlugin = `#!/bin/sh
case "$1" in
info) echo '{"name":"keep","kinds":["sink"],"schema":{"type":"object","required":["dir"]}}' ;;
validate) cat >/dev/null; echo '{"ok":true}' ;;
invoke) cat >>"$HOME/kept"; echo '{"ok":true}' ;;
esac
`

// TestSIGHUPReloads: after SIGHUP the daemon reads everything again. If a file is bad, the old
// settings stay, and health, doctor and log report it. A run continues meanwhile.
func TestSIGHUPReloads(t *testing.T) {
	home := t.TempDir()
	write(t, home, ".config/patchbay/agents/patient/agent.toml", `[agent]
name = "patient"
[run]
command = "/bin/sh"
args = ["-c", "echo began; until [ -e go ]; do sleep 0.05; done; echo ended"]
working_dir = "~"
[[on_success]]
plugin = "keep"
config = { dir = "out" }
[[preflight]]
plugin = "late"
`)
	write(t, home, ".config/dotagent/plugins/dotagent-plugin-keep", keepPlugin)
	executable(t, home, ".config/dotagent/plugins/dotagent-plugin-keep")
	s := serve(t, home)
	hangUp := func() {
		t.Helper()
		if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	health := func() (h struct {
		Status string
		Reload *struct{ Error string }
	}) {
		t.Helper()
		if code := s.call("GET", "/v1/health", "", &h); code != 200 {
			t.Errorf("health answered %d", code)
		}
		return h
	}
	same := func(when string) daemon.Diagnosis {
		t.Helper()
		var d daemon.Diagnosis
		if code := s.call("GET", "/v1/doctor", "", &d); code != 200 {
			t.Fatalf("doctor answered %d", code)
		}
		theirs, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		ours, _ := patchbayIn(home, "doctor", "--json").Output() // the exit code says whether there are findings
		if !bytes.Equal(bytes.TrimSpace(ours), theirs) {
			t.Errorf("%s:\ndoctor --json %s\n/v1/doctor    %s", when, ours, theirs)
		}
		return d
	}
	if d := same("with a plugin that is not installed"); d.OK || len(d.Findings) != 1 || !strings.Contains(d.Findings[0].Where, "patient/agent.toml:10:3") ||
		d.Findings[0].Problem != "preflight[0]: plugin not found: late" {
		t.Errorf("%+v", d)
	}

	write(t, home, ".config/dotagent/plugins/dotagent-plugin-late", strings.NewReplacer(`"sink"`, `"preflight"`, `"dir"`, ``, "keep", "late", "kept", "asked").Replace(keepPlugin))
	executable(t, home, ".config/dotagent/plugins/dotagent-plugin-late")
	same("with the plugin installed")
	var run job.Run
	if code := s.call("POST", "/v1/jobs/patient/run", "", &run); code != 200 {
		t.Fatalf("the run answered %d", code)
	}

	write(t, home, ".config/patchbay/config.toml", "[plugins.keep\n")
	hangUp()
	waitUntil(t, "the health reports the bad file", func() bool { return health().Reload != nil })
	if h := health(); h.Status != "degraded" || !strings.Contains(h.Reload.Error, "config.toml:1:") {
		t.Errorf("%+v, %+v", h, h.Reload)
	}
	var d daemon.Diagnosis
	if s.call("GET", "/v1/doctor", "", &d); d.OK || !strings.Contains(d.Findings[0].Where, "config.toml:1:") || !strings.HasPrefix(d.Findings[0].Problem, "nothing was reloaded: ") {
		t.Errorf("%+v", d)
	}

	write(t, home, ".config/patchbay/config.toml", "[plugins.keep]\nconfig = { dir = \"else\" }\n[server]\nlisten = \"127.0.0.1:1\"\n")
	hangUp()
	waitUntil(t, "the corrected file is read", func() bool { return health().Reload == nil })
	if s.call("GET", "/v1/doctor", "", &d); len(d.Findings) != 1 || !strings.HasPrefix(d.Findings[0].Problem, "[server]: ") {
		t.Errorf("a setting that a reload cannot change: %+v", d)
	}
	write(t, home, ".config/patchbay/config.toml", "[plugins.keep]\nconfig = { dir = \"else\" }\n")
	hangUp()
	waitUntil(t, "there are no findings", func() bool { d = daemon.Diagnosis{}; s.call("GET", "/v1/doctor", "", &d); return len(d.Findings) == 0 })
	same("after a reload")

	write(t, home, "go", "")
	waitUntil(t, "the run has ended", func() bool { s.call("GET", "/v1/runs/"+run.ID, "", &run); return run.Status.Over() })
	kept, err := os.ReadFile(filepath.Join(home, "kept"))
	if run.Status != job.Succeeded || len(run.Attempts[0].Sinks) > 0 || err != nil || !strings.Contains(string(kept), `"message":"began\nended\n"`) {
		t.Errorf("the run during the reloads: %+v, stored %s, %v", run, kept, err)
	}
	s.stop()
	for _, want := range []string{"a manifest has a problem: preflight[0]: plugin not found: late", "nothing was reloaded: everything stays as it was"} {
		if n := strings.Count(s.log.String(), want); n != 1 {
			t.Errorf("the log has %d times %q:\n%s", n, want, s.log)
		}
	}
}

func executable(t *testing.T, home, path string) {
	t.Helper()
	if err := os.Chmod(filepath.Join(home, path), 0o755); err != nil {
		t.Fatal(err)
	}
}

// waitUntil waits for something that happens in the daemon.
func waitUntil(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if happened() {
			return
		}
	}
	t.Fatalf("timed out waiting: %s", what)
}
