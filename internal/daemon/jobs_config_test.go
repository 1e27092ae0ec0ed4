package daemon

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// picky installs a dotagent plugin that refuses each config with the word no in it, quotes the
// config, and appends each verb to a file.
func (h testHome) picky() {
	path := h.write(".config/dotagent/plugins/dotagent-plugin-picky", `#!/bin/sh
echo "$1" >>"$HOME/verbs"
case "$1" in
info) echo '{"name":"picky","kinds":["sink","notify"]}' ;;
validate) read -r config; case "$config" in
  *no*) echo '{"ok":false,"error":"bad: '"$(printf %s "$config" | tr -d '"')"'"}' ;;
  *) echo '{"ok":true}' ;;
  esac ;;
invoke) cat >/dev/null; echo '{"ok":true}' ;;
esac
`)
	if err := os.Chmod(path, 0o755); err != nil {
		h.t.Fatal(err)
	}
}

const pickyAgent = `
[agent]
name = "choosy"
[run]
command = "/bin/sh"
args = ["-c", "echo ran >>$HOME/ran"]
`

// TestAConfigThatIsRefused checks that no agent runs with a config that a plugin refuses, and that
// a corrected manifest runs.
func TestAConfigThatIsRefused(t *testing.T) {
	h := newTestHome(t)
	h.picky()
	const place = ".config/patchbay/agents/choosy/agent.toml"
	h.write(place, pickyAgent+"[[on_success]]\nplugin = \"picky\"\nconfig = { path = \"no\" }\n")
	c := h.open("")
	find := func() (*job.Manifest, *job.Schedule) {
		t.Helper()
		c.Jobs.Reload()
		m, s, err := c.Jobs.Find("choosy", "")
		if err != nil {
			t.Fatal(err)
		}
		return m, s
	}
	m, s := find()
	if _, broken := errors.AsType[*BrokenJobError](c.Jobs.Check(t.Context(), m)); !broken {
		t.Error("the check accepts the manifest")
	}
	if _, err := (jobs{c.Jobs}).Start(t.Context(), "choosy", "", true); err == nil || !strings.Contains(err.Error(), "picky: it refuses its config: bad: {path:no}") {
		t.Errorf("over HTTP: %v", err)
	}
	r, err := c.Jobs.Runner.RunNow(t.Context(), m, s, job.RunOptions{Attempts: 1}) // as the scheduler runs it
	if err != nil || r.Status != job.GivenUp || r.Attempts[0].Result != job.Refused || !strings.Contains(r.Attempts[0].Error, "it refuses its config") ||
		!strings.Contains(r.Attempts[0].Suggest, "correct its config") {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(h.home + "/ran"); err == nil {
		t.Error("the agent ran")
	}

	h.write(place, pickyAgent+"[[on_success]]\nplugin = \"picky\"\nconfig = { path = \"yes\" }\n")
	m, s = find()
	if r, err := c.Jobs.Runner.RunNow(t.Context(), m, s, job.RunOptions{Attempts: 1}); err != nil || r.Status != job.Succeeded {
		t.Errorf("corrected: %+v, %v", r, err)
	}
	if err := os.Remove(h.home + "/verbs"); err != nil {
		t.Fatal(err)
	}
	if r, err := c.Jobs.Runner.RunNow(t.Context(), m, s, job.RunOptions{Attempts: 1}); err != nil || r.Status != job.Succeeded {
		t.Errorf("once more: %+v, %v", r, err)
	}
	if verbs, err := os.ReadFile(h.home + "/verbs"); err != nil || string(verbs) != "invoke\n" {
		t.Errorf("an accepted manifest is checked again: %s, %v", verbs, err)
	}
}

// TestVariablesInACheckedConfig checks that validate gets the config of a notifier with the values
// of its variables, and that no message has one of them.
func TestVariablesInACheckedConfig(t *testing.T) {
	h := newTestHome(t)
	h.picky()
	notifier := func(path string) string {
		return pickyAgent + "[[notifiers]]\ndriver = \"plugin\"\nname = \"picky\"\nconfig = { path = \"" + path + "\" }\n"
	}
	findings := func(path string, vars ...string) []pluginhost.Finding {
		t.Helper()
		h.write(".config/patchbay/agents/choosy/agent.toml", notifier(path))
		c := h.open("")
		defer c.Close()
		x := JobExam{Host: c.Host, Environ: append(h.options().Host.Environ, vars...), Procs: c.procs}
		return x.Of(t.Context(), c.Jobs.Loaded())
	}
	if found := findings("${no_NAME}/x", "no_NAME=/tmp"); len(found) != 0 {
		t.Errorf("a variable: %+v", found)
	}
	found := findings("${KEY}", "KEY=no-secret")
	if len(found) != 1 || !strings.Contains(found[0].Problem, "bad: {path:***}") || strings.Contains(found[0].Problem, "secret") {
		t.Errorf("a secret: %+v", found)
	}
	found = findings("${WHO}")
	if len(found) != 1 || !strings.Contains(found[0].Problem, "variable WHO") || !strings.Contains(found[0].Fix, "WHO = ") {
		t.Errorf("an unset variable: %+v", found)
	}
}
