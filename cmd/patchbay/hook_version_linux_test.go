package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/soak"
)

// otherVersion is the version of programs that are built as if for another release.
const otherVersion = "9.9.9"

// buildOtherVersion builds commands with otherVersion, in their own directory.
func buildOtherVersion(t *testing.T, commands ...string) (dir string) {
	t.Helper()
	plugtest.NeedTool(t, "go")
	dir = t.TempDir()
	source, err := filepath.Abs("../../internal/version/version.go")
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(dir, "version.go")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{source: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{changed: "package version\n\nconst Number = \"" + otherVersion + "\"\n", filepath.Join(dir, "overlay.json"): string(overlay)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range commands {
		cmd := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", filepath.Join(dir, name), "../"+name)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return dir
}

// TestAClientOfAnotherVersion: patchbay-hook is replaced by that of another release while a daemon
// runs.
func TestAClientOfAnotherVersion(t *testing.T) {
	h := newHookHome(t)
	h.installGuard("")
	ask := func(t *testing.T, program, command string) hookAnswer {
		t.Helper()
		got := h.askBy(program, []string{"claude", "--event", "PreToolUse"}, "one", h.preToolUse("one", "s", command))
		if !got.denied() || !strings.Contains(got.stdout, "guard says no in one") {
			t.Errorf("%+v", got)
		}
		return got
	}
	before := ask(t, "patchbay-hook", "rm -rf /1") // starts the daemon
	first := h.daemon()
	t.Run("patchbay itself is still the old one, and its daemon answers", func(t *testing.T) {
		dir := buildOtherVersion(t, "patchbay-hook")
		if got := ask(t, filepath.Join(dir, "patchbay-hook"), "rm -rf /2"); got.stdout != before.stdout { // the answer names the plugin's process
			t.Errorf("another process of the plugin answered: %s, and before: %s", got.stdout, before.stdout)
		}
		if now := h.daemon(); now != first {
			t.Errorf("the daemon is process %d, and was %d", now, first)
		}
	})
	t.Run("patchbay has the other version too, and its daemon takes over", func(t *testing.T) {
		if !soak.Long() {
			t.Skip("building all of patchbay again takes too long here: make soak does it")
		}
		dir := buildOtherVersion(t, "patchbay-hook", "patchbay")
		ask(t, filepath.Join(dir, "patchbay-hook"), "rm -rf /3")
		if now := h.daemon(); now == first || now == 0 {
			t.Errorf("process %d is still the daemon", now)
		}
		h.gone(first)
		var is struct{ Version string }
		if err := h.call("/v1/health", &is); err != nil || is.Version != otherVersion {
			t.Errorf("the daemon is of version %q, %v", is.Version, err)
		}
	})
	if log := h.log(); len(log) != 0 {
		t.Errorf("events were given up: %+v", log)
	}
}
