package webtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The doctor reports a plugin that is not executable. After a click on its button the plugin runs.
func TestDoctorFixes(t *testing.T) {
	s := newSite(t, notExecutable(t))
	p := newTab(t, s, "/doctor")
	p.see("1 thing to fix")
	p.seeIn("[data-finding=locked]", "chmod +x")
	p.open("/plugins/locked")
	p.click("=How to fix it")
	p.at("/doctor")
	p.click("=Make it executable")
	p.see("All is well")
	p.unsee("1 thing to fix")
	info, err := os.Stat(filepath.Join(s.Home, ".local/share/mine/plugins/locked/mine-plugin-locked"))
	if err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("%v %v", info, err)
	}
	if got := s.plugin("locked").State; got != "ready" {
		t.Errorf("it is %s", got)
	}
	p.press("/")
	p.press("nothing says this")
	p.see("No finding matches the filter")
}

// The doctor's button restarts a plugin that did not start, and enables a disabled one.
func TestDoctorRestartsAndEnables(t *testing.T) {
	s := newSite(t, func(home string) {
		dir := filepath.Join(home, ".local/scaffold/plugins")
		shout, err := os.ReadFile(filepath.Join(dir, "shout"))
		if err != nil {
			t.Fatal(err)
		}
		check := fmt.Sprintf("import os\nimport sys\n\nif not os.path.exists(%q):\n    print(\"not JSON\", flush=True)\n    sys.exit(\"I feel unwell\")\n", filepath.Join(home, "well"))
		moody := strings.NewReplacer("import sys\n", check, `"shout"`, `"moody"`).Replace(string(shout))
		if err := os.WriteFile(filepath.Join(dir, "moody"), []byte(moody), 0o755); err != nil {
			t.Fatal(err)
		}
	})
	s.call("POST", "/v1/config/changes", map[string]any{"changes": []any{map[string]any{"set": "enabled", "plugin": "sign", "value": false}}}, nil)
	p := newTab(t, s, "/doctor")
	p.seeIn("[data-finding=moody]", "I feel unwell")
	p.seeIn("[data-severity=warning] [data-finding=moody]", "print text for the log to stderr")
	p.until("only commands to be shown as code", `[...document.querySelectorAll('[data-finding=moody] code')].map((e) => e.innerText).join() === 'patchbay plugin info -v moody'`)
	p.picture("doctor-actions")
	p.click("[data-finding=moody] button")
	p.seeIn(".toast.bad", "I feel unwell")
	s.write("well", "")
	p.click("[data-finding=moody] button")
	p.see("moody was restarted")
	p.until("the finding to be gone", `!document.querySelector('[data-finding=moody]')`)
	p.seeIn("[data-finding=sign] button", "Enable")
	p.click("[data-finding=sign] button")
	p.see("sign is enabled")
	p.until("the finding to be gone", `!document.querySelector('[data-finding=sign]')`)
	for _, name := range []string{"moody", "sign"} {
		if got := s.plugin(name).State; got != "ready" {
			t.Errorf("%s is %s", name, got)
		}
	}
}
