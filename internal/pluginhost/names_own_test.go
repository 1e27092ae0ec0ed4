package pluginhost_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/pythonfile"
)

// TestAPlacesNameIsItsOwn: if two plugins claim a name, the one whose directory or file has it
// keeps it.
func TestAPlacesNameIsItsOwn(t *testing.T) {
	t.Run("scaffold", func(t *testing.T) {
		h := newTestHome(t)
		h.scaffold("aaa", "notes", 500)
		h.scaffold("notes", "notes", 500)
		host := h.open()
		if got := states(host); got != "notes:broken notes:ready" {
			t.Errorf("states %s", got)
		}
		if d, err := host.Plugin("notes"); err != nil || filepath.Base(d.Path) != "notes" {
			t.Errorf("%+v, %v", d, err)
		}
	})
	t.Run("scaffold, installed later", func(t *testing.T) {
		h := newTestHome(t)
		h.scaffold("aaa", "notes", 500)
		host := h.open()
		h.scaffold("notes", "notes", 500)
		if err := host.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := states(host); got != "notes:broken notes:ready" {
			t.Errorf("states %s", got)
		}
	})
	t.Run("kaged", func(t *testing.T) {
		h := newTestHome(t)
		h.keeper("aaa", "notes")
		h.keeper("notes", "notes")
		h.config("sandbox = \"off\"\n")
		host := h.open()
		if got := states(host); got != "notes:skipped notes:ready" {
			t.Errorf("states %s", got)
		}
		if got := tell(t, host, "notes", "notes"); got != "none none notes" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("of two dialects", func(t *testing.T) {
		h := newTestHome(t)
		h.keeper("notes", "notes")
		h.scaffold("aaa", "notes", 500)
		h.config("sandbox = \"off\"\n")
		host := h.open()
		for name, want := range map[string]string{"notes": "kaged", "kaged:notes": "kaged", "scaffold:notes": "scaffold", "aaa": "scaffold"} {
			if d, err := host.Plugin(name); err != nil || d.Dialect != want {
				t.Errorf("%s is %+v, %v", name, d, err)
			}
		}
	})
}

// TestPythonFilesHaveTheirNames: a python plugin has the name of its file, even if another plugin
// gives itself that name.
func TestPythonFilesHaveTheirNames(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	code := func(name, mark string) string {
		return "__plugin__ = {\"name\": \"" + name + "\"}\n@on_final\nasync def f(ctx, text): return text + \" " + mark + "\"\n"
	}
	final := func(t *testing.T, host *pluginhost.Host, plugins ...string) string {
		t.Helper()
		ctx := hook.WithChoice(t.Context(), hook.Choice{Dialect: pythonfile.Dialect, Plugins: plugins})
		out, err := host.Fire(hook.WithRequest(ctx, t.Name()+strings.Join(plugins, "")), hook.TurnFinal, json.RawMessage(`{"text":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		return string(out.Payload)
	}
	t.Run("both names mean it", func(t *testing.T) {
		h := newTestHome(t)
		h.write(".agent/plugins/foo.py", code("bar", "foo"), 0o644)
		host := h.open()
		for _, name := range []string{"foo", "bar"} {
			if got := final(t, host, name); got != `{"text":"x foo"}` {
				t.Errorf("%s: %s", name, got)
			}
			if s, err := pythonfile.Of(host).Get(t.Context(), name); err != nil || filepath.Base(s.Path) != "foo.py" || s.File != "foo" {
				t.Errorf("%s: %+v, %v", name, s, err)
			}
		}
	})
	later := map[string]bool{"there from the start": false, "there later": true}
	for rule, late := range later {
		t.Run("a file has the name: "+rule, func(t *testing.T) {
			h := newTestHome(t)
			h.write(".agent/plugins/aaa.py", code("bar", "aaa"), 0o644)
			if !late {
				h.write(".agent/plugins/bar.py", code("bar", "bar"), 0o644)
			}
			host := h.open()
			if late {
				if _, err := pythonfile.Of(host).Save(t.Context(), "bar", code("bar", "bar")); err != nil {
					t.Fatal(err)
				}
			}
			if got := states(host); got != "aaa:ready bar:ready" {
				t.Fatalf("states %s", got)
			}
			if got := final(t, host, "bar"); got != `{"text":"x bar"}` {
				t.Errorf("bar: %s", got)
			}
			if got := final(t, host, "aaa"); got != `{"text":"x aaa"}` {
				t.Errorf("aaa: %s", got)
			}
			if !slices.ContainsFunc(host.Doctor(), func(f pluginhost.Finding) bool {
				return f.Severity == pluginhost.SeverityWarning && f.Plugin == "aaa" && strings.Contains(f.Problem, `calls itself "bar"`)
			}) {
				t.Errorf("findings %+v", host.Doctor())
			}
		})
	}
	t.Run("a file had the name", func(t *testing.T) {
		h := newTestHome(t)
		h.write(".agent/plugins/aaa.py", code("bar", "aaa"), 0o644)
		h.write(".agent/plugins/bar.py", code("bar", "bar"), 0o644)
		host := h.open()
		if err := os.Remove(filepath.Join(h.home, ".agent/plugins/bar.py")); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := host.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := states(host); got != "bar:ready" {
				t.Errorf("states %s", got)
			}
			if got := final(t, host, "bar"); got != `{"text":"x aaa"}` {
				t.Errorf("bar: %s", got)
			}
		}
	})
	t.Run("two files declare it", func(t *testing.T) {
		h := newTestHome(t)
		h.write(".agent/plugins/foo.py", code("bar", "foo"), 0o644)
		h.write(".agent/plugins/goo.py", code("bar", "goo"), 0o644)
		host := h.open()
		if got := states(host); got != "bar:ready goo:ready" {
			t.Fatalf("states %s", got)
		}
		for name, want := range map[string]string{"bar": "foo", "foo": "foo", "goo": "goo"} {
			if got := final(t, host, name); got != `{"text":"x `+want+`"}` {
				t.Errorf("%s: %s", name, got)
			}
			if d, err := host.Plugin(name); err != nil || filepath.Base(d.Path) != want+".py" {
				t.Errorf("%s is %+v, %v", name, d, err)
			}
		}
		if got := final(t, host, "bar", "goo"); got != `{"text":"x foo goo"}` {
			t.Errorf("both: %s", got)
		}
		if !slices.ContainsFunc(host.Doctor(), func(f pluginhost.Finding) bool {
			return f.Severity == pluginhost.SeverityWarning && f.Plugin == "goo" && strings.Contains(f.Where, "goo.py") && strings.Contains(f.Problem, "foo.py") && f.Fix != ""
		}) {
			t.Errorf("findings %+v", host.Doctor())
		}
		for range 2 { // a name that is as it should be stays
			before := host.Plugins()
			if err := host.Refresh(t.Context()); err != nil || states(host) != "bar:ready goo:ready" || !reflect.DeepEqual(before, host.Plugins()) {
				t.Errorf("%v, states %s", err, states(host))
			}
		}
		h.write(".agent/plugins/aoo.py", code("bar", "aoo"), 0o644)
		if err := host.Refresh(t.Context()); err != nil || states(host) != "bar:ready foo:ready goo:ready" {
			t.Errorf("one before them: %v, states %s", err, states(host))
		}
		for _, gone := range []string{"aoo", "foo"} {
			if err := os.Remove(filepath.Join(h.home, ".agent/plugins", gone+".py")); err != nil {
				t.Fatal(err)
			}
		}
		if err := host.Refresh(t.Context()); err != nil || states(host) != "bar:ready" || final(t, host, "bar") != `{"text":"x goo"}` {
			t.Errorf("the others are gone: %v, states %s", err, states(host))
		}
	})
	t.Run("the file's own name cannot be a plugin's", func(t *testing.T) {
		h := newTestHome(t)
		h.write(".agent/plugins/bar.py", code("bar", "bar"), 0o644)
		h.write(".agent/plugins/\x1b[2J.py", code("bar", "odd"), 0o644)
		host := h.open()
		if got := states(host); got != "\x1b[2J:broken bar:ready" {
			t.Errorf("states %q", got)
		}
		if !slices.ContainsFunc(host.Doctor(), func(f pluginhost.Finding) bool {
			return f.Severity == pluginhost.SeverityError && strings.Contains(f.Problem, "bar.py") && strings.Contains(f.Problem, "not a valid name")
		}) {
			t.Errorf("findings %+v", host.Doctor())
		}
	})
	t.Run("a link to nothing has the name", func(t *testing.T) {
		h := newTestHome(t)
		h.write(".agent/plugins/aaa.py", code("bar", "aaa"), 0o644)
		if err := os.Symlink("nothing", filepath.Join(h.home, ".agent/plugins/bar.py")); err != nil {
			t.Fatal(err)
		}
		if got := states(h.open()); got != "aaa:ready bar:broken" {
			t.Errorf("states %s", got)
		}
	})
	t.Run("such code is not saved", func(t *testing.T) {
		h := newTestHome(t)
		host := h.open()
		h.write(".agent/plugins/bar.py", code("bar", "bar"), 0o644)
		if _, err := pythonfile.Of(host).Save(t.Context(), "foo", code("bar", "foo")); err == nil || !strings.Contains(err.Error(), "bar.py") {
			t.Errorf("error %v", err)
		}
		if _, err := os.Stat(filepath.Join(h.home, ".agent/plugins/foo.py")); err == nil {
			t.Error("the code was saved nevertheless")
		}
	})
	t.Run("env is granted by the name of the file", func(t *testing.T) {
		h := newTestHome(t)
		h.write(".agent/plugins/foo.py", "import os\n"+strings.Replace(code("bar", "@"), `" @"`, `os.environ.get("TOKEN", "none")`, 1), 0o644)
		for config, want := range map[string]string{"[plugins.foo]\nenv = [\"TOKEN\"]\n": `{"text":"xtoken"}`, "[plugins.bar]\nenv = [\"TOKEN\"]\n": `{"text":"xnone"}`} {
			h.config(config)
			if got := final(t, h.openWith(h.tokened()), "foo"); got != want {
				t.Errorf("%s: %s, want %s", config, got, want)
			}
		}
	})
	t.Run("restrictions under the name it calls itself", func(t *testing.T) {
		h := newTestHome(t)
		h.write(".agent/plugins/foo.py", code("bar", "foo"), 0o644)
		h.config("[plugins.bar]\nenabled = false\n")
		if p := h.open().Plugins()[0]; p.State != dialect.Disabled {
			t.Errorf("%+v", p)
		}
		h.config("[plugins.bar.limits]\nopen_files = 50\n")
		if host := h.open(); final(t, host, "foo") != `{"text":"x foo"}` {
			t.Errorf("%+v", host.Plugins()[0])
		}
		h.write(".agent/plugins/foo.py", strings.Replace(code("bar", "foo"), `"bar"`, `"b" + "ar"`, 1), 0o644)
		if p := h.open().Plugins()[0]; p.State != dialect.Broken { // the name is known too late
			t.Errorf("%+v", p)
		}
	})
	t.Run("its timeout leaves the runner time to report it", func(t *testing.T) {
		for _, name := range []string{"foo", "bar"} {
			h := newTestHome(t)
			h.write(".agent/plugins/foo.py", code("bar", "foo"), 0o644)
			h.config("[plugins." + name + "]\ntimeout = \"1s\"\n")
			p, err := h.open().Plugin("foo")
			if err != nil || len(p.Wiring) != 1 || p.Wiring[0].TimeoutMS != 1500 {
				t.Errorf("%s: %+v, %v", name, p, err)
			}
		}
	})
}

// TestADotagentPluginsOwnName: restrictions under the name that a dotagent plugin calls itself
// apply, though its name is that of its file.
func TestADotagentPluginsOwnName(t *testing.T) {
	h := newTestHome(t)
	h.write(".config/dotagent/plugins/dotagent-plugin-file", "#!/bin/sh\necho '{\"name\":\"real\",\"kinds\":[],\"ok\":true}'\n", 0o755)
	for config, want := range map[string]string{
		"": "file:ready", "[plugins.real]\nenabled = false\n": "file:disabled", "[plugins.real.limits]\nopen_files = 50\n": "file:broken",
		"[plugins.file]\nenabled = false\n": "file:disabled",
	} {
		h.config(config)
		if got := states(h.open()); got != want {
			t.Errorf("%q: %s, want %s", config, got, want)
		}
	}
}
