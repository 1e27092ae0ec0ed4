package daemon

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
)

// plugin installs a dotagent plugin of a kind. It appends its input to a file of its own.
func (h testHome) plugin(name, kind string) string {
	path := h.write(".config/dotagent/plugins/dotagent-plugin-"+name, `#!/bin/sh
case "$1" in
info) echo '{"name":"`+name+`","kinds":["`+kind+`"]}' ;;
validate) cat >/dev/null; echo '{"ok":true}' ;;
invoke) cat >>"$HOME/`+name+`.given"; echo '{"ok":true}' ;;
esac
`)
	if err := os.Chmod(path, 0o755); err != nil {
		h.t.Fatal(err)
	}
	return path
}

const early = `
[agent]
name = "early"
[run]
command = "/bin/sh"
args = ["-c", "echo done"]
[[preflight]]
plugin = "late"
`

// TestPluginsInstalledLater installs plugins while a daemon runs. The daemon finds them before the
// next event for them. If a plugin cannot be asked, the run says why.
func TestPluginsInstalledLater(t *testing.T) {
	h := newTestHome(t)
	h.write(".config/patchbay/agents/early/agent.toml", early)
	c := h.open("")
	run := func() job.Run {
		t.Helper()
		m, s, err := c.Jobs.Find("early", "")
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Jobs.Runner.RunNow(t.Context(), m, s, job.RunOptions{Attempts: 1})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	fails := func(want string) {
		t.Helper()
		if r := run(); r.Status != job.GivenUp || !strings.Contains(r.Attempts[0].Error, want) {
			t.Errorf("%+v, want %q", r, want)
		}
	}
	fails("preflight late: plugin not found: late")

	path := h.plugin("late", "sink")
	fails("preflight late: plugin late is not a preflight plugin: its kinds are sink")

	h.plugin("late", "notify") // replaced: its info is read again
	fails("preflight late: plugin late is not a preflight plugin: its kinds are notify")

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	fails("plugin not found: late")

	h.plugin("late", "preflight")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	fails("preflight late: plugin late is broken: it is not executable")
	if fix := run().Attempts[0].Suggest; fix != "chmod +x "+path {
		t.Errorf("fix %q", fix)
	}

	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if r := run(); r.Status != job.Succeeded {
		t.Errorf("%+v", r)
	}
	if given, err := os.ReadFile(filepath.Join(h.home, "late.given")); err != nil || !strings.Contains(string(given), `"kind":"preflight"`) {
		t.Errorf("given %s, %v", given, err)
	}
}

// TestDoctorOfTheDaemon checks that /v1/doctor also reports the current problems of manifests and
// their plugins.
func TestDoctorOfTheDaemon(t *testing.T) {
	h := newTestHome(t)
	c := h.open("")
	diagnose := func() (problems []string) {
		t.Helper()
		d, err := inspect{c}.Doctor(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(d)
		if err != nil || !json.Valid(data) {
			t.Fatal(err)
		}
		for _, f := range d.(Diagnosis).Findings {
			problems = append(problems, f.Plugin+" "+f.Where+" "+f.Problem)
		}
		return problems
	}
	if got := diagnose(); len(got) != 0 {
		t.Errorf("%q", got)
	}
	path := h.write(".config/patchbay/agents/early/agent.toml", early)
	want := "agent early " + path + ":7:3 preflight[0]: plugin not found: late"
	if got := diagnose(); !slices.Equal(got, []string{want}) {
		t.Errorf("got %q, want %q", got, want)
	}
	near := h.plugin("later", "preflight")
	if found := c.Jobs.Examine(t.Context()); len(found) != 1 || !strings.HasPrefix(found[0].Fix, "did you mean later? If not, put dotagent-plugin-late into ") {
		t.Errorf("%+v", found)
	}
	if err := os.Remove(near); err != nil {
		t.Fatal(err)
	}
	h.plugin("late", "preflight")
	if got := diagnose(); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// TestAnAgentWhoseManifestBreaks: the agent goes on as it was, with a warning, and the list and the
// doctor say what is wrong.
func TestAnAgentWhoseManifestBreaks(t *testing.T) {
	h := newTestHome(t)
	path := h.write(".config/patchbay/agents/early/agent.toml", early)
	c := h.open("")
	h.write(".config/patchbay/agents/early/agent.toml", "[agent\n")
	for range 2 {
		if err := c.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if m, _, err := c.Jobs.Find("early", ""); err != nil || m.Preflight[0].Plugin != "late" {
		t.Errorf("%+v, %v", m, err)
	}
	list, err := c.Jobs.List(t.Context())
	if err != nil || len(list) != 2 || list[0].Schedule != "manual" || list[0].Error != "" || !strings.Contains(list[1].Error, path+":1:") {
		t.Errorf("%+v, %v", list, err)
	}
	if found := c.Jobs.Examine(t.Context()); len(found) != 1 || !strings.HasPrefix(found[0].Where, path+":1:") {
		t.Errorf("%+v", found)
	}
}

// TestAnAgentsPluginsRunInItsProject checks that the plugins of an agent with a working directory
// run in that directory's project, and those of other agents in the daemon's. People are told about
// a run whose directory is gone.
func TestAnAgentsPluginsRunInItsProject(t *testing.T) {
	h := newTestHome(t)
	repo := repository(t, "repo")
	inside := filepath.Join(repo, "inside")
	if err := os.Mkdir(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	path := h.write(".config/dotagent/plugins/dotagent-plugin-spot", `#!/bin/sh
case "$1" in
info) echo '{"name":"spot","kinds":["preflight","sink","notify"]}' ;;
validate) cat >/dev/null; echo '{"ok":true}' ;;
invoke) kind=$(sed 's/.*"kind":"\([a-z]*\)".*/\1/'); echo "$kind $PWD" >>"$HOME/spots"; echo '{"ok":true}' ;;
esac
`)
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	agent := func(name, dir string) {
		h.write(".config/patchbay/agents/"+name+"/agent.toml", "[agent]\nname = \""+name+"\"\n[run]\ncommand = \"/bin/sh\"\nargs = [\"-c\", \"echo done\"]\n"+
			dir+"[[preflight]]\nplugin = \"spot\"\n[[on_success]]\nplugin = \"spot\"\n[[notifiers]]\ndriver = \"plugin\"\nname = \"spot\"\n")
	}
	agent("away", "working_dir = \""+inside+"\"\n")
	agent("beside", "working_dir = \".\"\n")
	agent("home", "")
	c := h.open("")
	run := func(name string) job.Run {
		t.Helper()
		m, s, err := c.Jobs.Find(name, "")
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Jobs.Runner.RunNow(t.Context(), m, s, job.RunOptions{Attempts: 1})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	spots := func(want ...string) {
		t.Helper()
		var got string
		eventually.True(t, strings.Join(want, ", "), func() bool {
			data, _ := os.ReadFile(filepath.Join(h.home, "spots"))
			got = strings.Join(slices.Sorted(strings.SplitSeq(strings.TrimSpace(string(data)), "\n")), ", ")
			return got == strings.Join(want, ", ")
		})
		if err := os.Remove(filepath.Join(h.home, "spots")); err != nil {
			t.Fatal(err)
		}
	}
	run("away")
	spots("notify "+repo, "preflight "+repo, "sink "+repo)
	run("beside")
	beside := filepath.Join(h.home, ".config/patchbay/agents/beside")
	spots("notify "+beside, "preflight "+beside, "sink "+beside)
	run("home")
	spots("notify "+h.home, "preflight "+h.home, "sink "+h.home)

	if err := os.RemoveAll(repo); err != nil {
		t.Fatal(err)
	}
	if r := run("away"); r.Status != job.GivenUp || !strings.Contains(r.Attempts[0].Error, "working directory "+inside+" is gone") {
		t.Errorf("%+v", r)
	}
	spots("notify "+h.home, "notify "+h.home) // attempt_failed and given_up
}
