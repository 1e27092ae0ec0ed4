package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// abs makes a slash path absolute on every system the tests run on.
func abs(path string) string {
	p, err := filepath.Abs(filepath.FromSlash(path))
	if err != nil {
		panic(err)
	}
	return p
}

func TestLocate(t *testing.T) {
	for _, c := range []struct {
		rule                string
		env                 map[string]string
		goos                string
		config, data, state string
	}{
		{
			"defaults below HOME", map[string]string{"HOME": abs("/home/ann")}, "linux",
			abs("/home/ann/.config/patchbay"), abs("/home/ann/.local/share/patchbay"), abs("/home/ann/.local/state/patchbay"),
		},
		{
			"macOS keeps the same places", map[string]string{"HOME": abs("/Users/ann")}, "darwin",
			abs("/Users/ann/.config/patchbay"), abs("/Users/ann/.local/share/patchbay"), abs("/Users/ann/.local/state/patchbay"),
		},
		{
			"XDG variables", map[string]string{
				"HOME": abs("/h"), "XDG_CONFIG_HOME": abs("/c"), "XDG_DATA_HOME": abs("/d"), "XDG_STATE_HOME": abs("/s"),
			}, "linux", abs("/c/patchbay"), abs("/d/patchbay"), abs("/s/patchbay"),
		},
		{
			"a relative XDG path is ignored", map[string]string{"HOME": abs("/h"), "XDG_CONFIG_HOME": "c"}, "linux",
			abs("/h/.config/patchbay"), abs("/h/.local/share/patchbay"), abs("/h/.local/state/patchbay"),
		},
		{
			"PATCHBAY_HOME is one root and beats XDG", map[string]string{
				"HOME": abs("/h"), "PATCHBAY_HOME": abs("/p"), "XDG_CONFIG_HOME": abs("/c"),
			}, "linux", abs("/p"), abs("/p/data"), abs("/p/state"),
		},
		{
			"PATCHBAY_HOME needs no HOME", map[string]string{"PATCHBAY_HOME": abs("/p")}, "linux",
			abs("/p"), abs("/p/data"), abs("/p/state"),
		},
		{
			"PATCHBAY_HOME below the home", map[string]string{"HOME": abs("/h"), "PATCHBAY_HOME": "~/p"}, "linux",
			abs("/h/p"), abs("/h/p/data"), abs("/h/p/state"),
		},
		{
			"PATCHBAY_HOME relative to here", map[string]string{"PATCHBAY_HOME": "p"}, "linux",
			abs("p"), abs("p/data"), abs("p/state"),
		},
		{
			"Windows", map[string]string{"USERPROFILE": abs("/u"), "APPDATA": abs("/u/roam"), "LOCALAPPDATA": abs("/u/local")}, "windows",
			abs("/u/roam/patchbay"), abs("/u/local/patchbay"), abs("/u/local/state/patchbay"),
		},
	} {
		t.Run(c.rule, func(t *testing.T) {
			d, err := Locate(func(name string) string { return c.env[name] }, c.goos)
			if err != nil {
				t.Fatal(err)
			}
			if d.Config != c.config || d.Data != c.data || d.State != c.state {
				t.Errorf("got %+v", d)
			}
			if d.ConfigFile != filepath.Join(c.config, "config.toml") ||
				d.SecretsFile != filepath.Join(c.config, "secrets.toml") ||
				d.LockFile != filepath.Join(c.config, "patchbay.lock") {
				t.Errorf("files: %+v", d)
			}
		})
	}
}

func TestLocateWithoutHome(t *testing.T) {
	for _, env := range []map[string]string{{}, {"PATCHBAY_HOME": "~/p"}, {"HOME": "h"}, {"HOME": "h", "PATCHBAY_HOME": "~/p"}} {
		_, err := Locate(func(name string) string { return env[name] }, "linux")
		if !errors.Is(err, ErrNoHome) || !strings.Contains(err.Error(), "set $HOME") {
			t.Errorf("%v: got %v", env, err)
		}
	}
}

func TestLocateRefusesAnotherUsersHome(t *testing.T) {
	env := map[string]string{"HOME": abs("/h"), "PATCHBAY_HOME": "~bob/p"}
	if _, err := Locate(func(name string) string { return env[name] }, "linux"); err == nil {
		t.Error("the home directory of another user was accepted")
	}
}

func TestLocateCreatesNothing(t *testing.T) {
	root := filepath.Join(t.TempDir(), "p")
	if _, err := Locate(func(string) string { return root }, "linux"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(root); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory was created: %v", err)
	}
}

func TestResolve(t *testing.T) {
	d := Dirs{Home: abs("/h"), Config: abs("/c")}
	for path, want := range map[string]string{
		"turn.yaml": abs("/c/turn.yaml"), "~/x": abs("/h/x"), "~": abs("/h"), abs("/x/../y"): abs("/y"),
	} {
		if got, err := d.Resolve(path); got != want || err != nil {
			t.Errorf("%s: got %s, %v, want %s", path, got, err, want)
		}
	}
	d.ConfigFile = filepath.FromSlash("elsewhere/my.toml")
	if got, err := d.Resolve("turn.yaml"); got != abs("elsewhere/turn.yaml") || err != nil {
		t.Errorf("beside a config file named by hand: got %s, %v", got, err)
	}
	if _, err := (Dirs{Config: abs("/c")}).Resolve("~/x"); !errors.Is(err, ErrNoHome) {
		t.Errorf("got %v", err)
	}
}

func TestJobDirs(t *testing.T) {
	d := Dirs{Home: abs("/h"), Config: abs("/c")}
	for _, c := range []struct {
		rule string
		dirs []string
		want []string
	}{
		{"default", nil, []string{abs("/c/agents"), abs("/h/.config/dotagent/agents")}},
		{"none", []string{}, []string{}},
		{"as written", []string{"~/a", "b"}, []string{abs("/h/a"), abs("/c/b")}},
	} {
		got, err := d.JobDirs(&Config{Jobs: Jobs{Dirs: c.dirs}})
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %v, %v, want %v", c.rule, got, err, c.want)
		}
	}
	c, err := Load(write(t, "[jobs]\ndirs = [\"a\", \"~bob\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.JobDirs(c)
	if e, ok := errors.AsType[*Error](err); !ok || e.Problems[0].Line != 2 || e.Problems[0].Column != 14 {
		t.Errorf("got %v", err)
	}
}

// FuzzLocate: for every environment, Locate returns absolute paths or an error.
func FuzzLocate(tf *testing.F) {
	f := variants.Of(tf)
	f.Add("/home/me", "", "", "~/x")
	f.Add("", "/srv/patchbay", "rel", "../x")
	f.Add("", "~", "/xdg", "~other")
	f.Add("/h", "~/../..", "~", "")
	f.Fuzz(func(t *testing.T, home, root, xdg, path string) {
		if home != "" && !filepath.IsAbs(home) {
			return // the system's own path, which is correct
		}
		env := map[string]string{"HOME": home, "PATCHBAY_HOME": root, "XDG_CONFIG_HOME": xdg, "XDG_DATA_HOME": xdg, "XDG_STATE_HOME": xdg}
		d, err := Locate(func(name string) string { return env[name] }, "linux")
		if err != nil {
			return
		}
		for _, dir := range []string{d.Config, d.Data, d.State, d.ConfigFile, d.SecretsFile, d.LockFile} {
			if !filepath.IsAbs(dir) {
				t.Errorf("%q: %q in %+v", env, dir, d)
			}
		}
		if resolved, err := d.Resolve(path); err == nil && !filepath.IsAbs(resolved) {
			t.Errorf("%q resolves to %q", path, resolved)
		}
	})
}
