//go:build unix

package pluginhost_test

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/projectfiles"
)

// site makes a project and moves the given plugins of the home into it.
func (h testHome) site(from ...string) (root string) {
	h.t.Helper()
	h.write("site/.git/HEAD", "", 0o644)
	h.write("site/.patchbay/plugins/README.md", "", 0o644)
	for _, path := range from {
		h.move(path, "site/.patchbay/plugins/"+filepath.Base(path))
	}
	root, err := filepath.EvalSymlinks(filepath.Join(h.home, "site"))
	if err != nil {
		h.t.Fatal(err)
	}
	return root
}

// trustSite trusts the project, as a user does.
func (h testHome) trustSite(root string) {
	h.t.Helper()
	dirs, err := config.Locate(dialect.Env{Vars: h.options().Environ}.Get, runtime.GOOS)
	if err != nil {
		h.t.Fatal(err)
	}
	staged, err := projectfiles.In(dirs).Stage(root)
	if err == nil {
		err = staged.Trust(nil)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// TestNothingIsGivenToAProjectsPlugin: grants in the user's files go only to the user's own
// plugins, whatever names a project uses; restrictions also apply to the project's. A project's
// plugin has its own storage.
func TestNothingIsGivenToAProjectsPlugin(t *testing.T) {
	h := newTestHome(t)
	h.keeper("notes", "notes")
	h.config("sandbox = \"off\"\n[plugins.notes]\nenv = [\"TOKEN\"]\n")
	h.secrets("[plugins.notes]\nkey = \"secret\"\n")
	if got := tell(t, h.openWith(h.tokened()), "notes", "notes"); got != "secret token notes" {
		t.Fatal(got)
	}
	root := h.site(".local/share/kaged/plugins/notes")
	h.trustSite(root)
	in := func(o *pluginhost.Options) *pluginhost.Options { o.Dir = root; return o }
	h.keeper("other", "other") // a plugin in this place would find what the first one stored
	host := h.openWith(in(h.tokened()))
	if got := tell(t, host, "notes", "notes"); got != "none none notes" {
		t.Errorf("the project's: %s", got)
	}
	for _, file := range []string{"config.toml:2:10", "secrets.toml:1:10"} {
		if !slices.ContainsFunc(host.Doctor(), func(f pluginhost.Finding) bool {
			return f.Severity == pluginhost.SeverityWarning && strings.HasSuffix(f.Where, file) && strings.HasSuffix(f.Problem, "to the plugin of the project "+root+", because it is not your own")
		}) {
			t.Errorf("no finding about %s: %+v", file, host.Doctor())
		}
	}
	h.config("[plugins.notes]\nenabled = false\n")
	if got := states(h.openWith(in(h.tokened()))); !strings.Contains(got, "notes:disabled") {
		t.Error(got)
	}
}

// TestAProjectCannotTakeAName: of two plugins with one name, of any dialects, the user's own works.
func TestAProjectCannotTakeAName(t *testing.T) {
	for rule, place := range map[string]struct{ file, called, name string }{
		"their files have one name":                         {"mine", "mine", "mine"},
		"they call themselves by one name":                  {"calls", "calls", "calls"},
		"it calls itself by the name of the other's file":   {"other", "mine", "mine"},
		"its file has the name that the other calls itself": {"calls", "x", "calls"},
	} {
		t.Run(rule, func(t *testing.T) {
			h := newTestHome(t)
			h.scaffold(place.file, place.called, 1)
			root := h.site(".local/scaffold/plugins/" + place.file)
			h.trustSite(root)
			h.scaffold("mine", "mine", 500)
			h.scaffold("caller", "calls", 500)
			o := h.options()
			o.Dir = root
			host := h.openWith(o)
			if p, err := host.Plugin(place.name); err != nil || p.Project != "" || p.State != dialect.Ready {
				t.Errorf("%s means %+v: %v", place.name, p, err)
			}
			if got := states(host); strings.Count(got, place.name+":ready") != 1 {
				t.Error(got)
			}
		})
	}
}

// TestAConnectionMeansTheUsersOwn: a connected guard that is missing fails, even if a project has a
// plugin of its name.
func TestAConnectionMeansTheUsersOwn(t *testing.T) {
	h := newTestHome(t)
	h.scaffold("guard", "guard", 500)
	root := h.site(".local/scaffold/plugins/guard")
	h.trustSite(root)
	h.config("[[connect]]\nplugin = \"guard\"\nhook = \"post_user_input\"\npoint = \"turn.final\"\n")
	o := h.options()
	o.Dir = root
	host := h.openWith(o)
	found := false
	for _, f := range host.Doctor() {
		found = found || strings.Contains(f.Problem, "names a plugin that is not installed: guard")
	}
	if !found {
		t.Errorf("%v", host.Doctor())
	}
}

// TestAHostSeesTrustComeAndGo: Refresh notices that a project was trusted, and that a plugin of it
// has changed since.
func TestAHostSeesTrustComeAndGo(t *testing.T) {
	h := newTestHome(t)
	h.scaffold("hello", "hello", 500)
	root := h.site(".local/scaffold/plugins/hello")
	o := h.options()
	o.Dir = root
	host := h.openWith(o)
	if got := states(host); got != "" {
		t.Fatal(got)
	}
	h.trustSite(root)
	if err := host.Refresh(t.Context()); err != nil || states(host) != "hello:ready" {
		t.Fatal(states(host), err)
	}
	h.write("site/.patchbay/plugins/hello", "#!/bin/sh\ntouch ran\n", 0o755)
	if err := host.Refresh(t.Context()); err != nil || states(host) != "" {
		t.Fatal(states(host), err)
	}
	if findings := host.Doctor(); len(findings) != 1 || !strings.Contains(findings[0].Problem, "they have changed since you trusted them: changed hello") {
		t.Errorf("%v", findings)
	}
}
