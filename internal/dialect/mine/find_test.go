package mine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/program"
)

func names(found []dialect.Found) string {
	var all []string
	for _, f := range found {
		all = append(all, f.Name)
	}
	return strings.Join(all, " ")
}

func TestFind(t *testing.T) {
	r := newRig(t)
	t.Run("a missing directory is fine", func(t *testing.T) {
		if found := New().Find(r.rt.Env); len(found) != 0 || len(New().Examine(r.rt.Env)) != 0 {
			t.Errorf("found %+v", found)
		}
	})
	t.Run("one folder a plugin, in the order of name and colon", func(t *testing.T) {
		for _, name := range []string{"todo", "todo-sync", "todo2", "a"} {
			r.fake(name, "")
		}
		if got := names(New().Find(r.rt.Env)); got != "a todo-sync todo2 todo" {
			t.Errorf("found %q", got)
		}
	})
	t.Run("the declarations are known before the plugin runs", func(t *testing.T) {
		found := New().Find(r.rt.Env)
		if f := found[0]; f.Info == nil || f.Info.Version != "1.2.3" || f.State != "" || f.Err != nil {
			t.Errorf("%+v", f)
		}
	})
	t.Run("files and hidden folders are not plugins", func(t *testing.T) {
		root := filepath.Join(r.home, ".local", "share", "mine", "plugins")
		if err := errors.Join(os.WriteFile(filepath.Join(root, "plugins.toml"), nil, 0o644), os.Mkdir(filepath.Join(root, ".git"), 0o755)); err != nil {
			t.Fatal(err)
		}
		if found := New().Find(r.rt.Env); len(found) != 4 {
			t.Errorf("found %q", names(found))
		}
	})
	t.Run("XDG_DATA_HOME moves the directory", func(t *testing.T) {
		moved := dialect.Env{Vars: []string{"HOME=/nowhere", "XDG_DATA_HOME=" + filepath.Join(r.home, ".local", "share")}}
		if got := names(New().Find(moved)); got != "a todo-sync todo2 todo" {
			t.Errorf("found %q", got)
		}
	})
}

// TestBroken: faults that are visible before the program is started are reported.
func TestBroken(t *testing.T) {
	for _, c := range []struct {
		rule  string
		make  func(r *rig) (dir string)
		state dialect.State
		says  []string
		fix   string // of the doctor; %s is the program
	}{
		{"no manifest", func(r *rig) string {
			dir := r.folder("p", "")
			r.must(os.Remove(filepath.Join(dir, manifestFile)))
			return dir
		}, dialect.Broken, []string{manifestFile, "no such file"}, ""},
		{"a manifest with problems", func(r *rig) string { return r.folder("p", "[plugin]\nname = \"p\"\nversion = \"1\"\n") },
			dialect.Broken, []string{"mine-plugin.toml:1:2: plugin.description: is required (and 2 more problems)"}, ""},
		{"a manifest that is too large", func(r *rig) string { return r.folder("p", strings.Repeat("# no\n", mostManifest)) },
			dialect.Broken, []string{"over 256 KiB"}, ""},
		{"binary missing", func(r *rig) string { return r.folder("p", manifestOf("p", "")) },
			dialect.Broken, []string{"missing", "mine-plugin-p", "reinstall"}, "reinstall the plugin"},
		{"binary missing, another program is there", func(r *rig) string {
			dir := r.folder("p", manifestOf("p", ""))
			r.must(os.WriteFile(filepath.Join(dir, "main.sh"), []byte("#!/bin/sh\n"), 0o755))
			return dir
		}, dialect.Broken, []string{"missing", "mine-plugin-p", `entrypoint = "main.sh"`, "reinstall"}, `write entrypoint = "main.sh" in mine-plugin.toml`},
		{"not executable", func(r *rig) string {
			dir := r.folder("p", manifestOf("p", "entrypoint = \"run.py\"\n"))
			r.must(os.WriteFile(filepath.Join(dir, "run.py"), []byte("#!/bin/sh\n"), 0o644))
			return dir
		}, dialect.Broken, []string{"permission", "is not executable", "chmod +x "}, "chmod +x "},
		{"interpreter missing", func(r *rig) string { return r.interpreted("#!/usr/bin/env no-such-interpreter\n") },
			dialect.Broken, []string{"mine-plugin-p", "its interpreter no-such-interpreter is not in the PATH"}, "install no-such-interpreter"},
		{"interpreter missing, by its path", func(r *rig) string { return r.interpreted("#!/no/such/interpreter\n") },
			dialect.Broken, []string{"its interpreter /no/such/interpreter does not exist"}, "install it, or change the #! line"},
		{"no #! line", func(r *rig) string { return r.interpreted("import sys\n") },
			dialect.Broken, []string{"mine-plugin-p", "it has no #! line"}, "begin the file with a line like #!"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			r := newRig(t)
			dir := c.make(r)
			found := New().Find(r.rt.Env)
			if len(found) != 1 || found[0].State != c.state || found[0].Path != dir || found[0].Name != "p" {
				t.Fatalf("found %+v", found)
			}
			for _, says := range c.says {
				if !strings.Contains(found[0].Err.Error(), says) {
					t.Errorf("error %q does not say %q", found[0].Err, says)
				}
			}
			start, ok := errors.AsType[*program.StartError](found[0].Err)
			if ok != (c.fix != "") || ok && !strings.HasPrefix(start.Fix, c.fix) {
				t.Errorf("the doctor gets %+v", start)
			}
			if _, err := New().Open(t.Context(), found[0], dialect.Settings{}, r.rt); err == nil {
				t.Error("a broken plugin was opened")
			}
		})
	}
}

// interpreted installs a plugin p whose program is a script, and returns its folder.
func (r *rig) interpreted(text string) (dir string) {
	r.script("p", "", text)
	return filepath.Join(r.home, ".local", "share", "mine", "plugins", "p")
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func TestTheManifestsNameCounts(t *testing.T) {
	r := newRig(t)
	r.fake("todo", "")
	plugins := filepath.Join(r.home, ".local", "share", "mine", "plugins")
	r.must(os.Rename(filepath.Join(plugins, "todo"), filepath.Join(plugins, "checkout")))
	f := New().Find(r.rt.Env)[0]
	if f.Name != "todo" || f.State != "" || len(f.Warnings) != 1 || !strings.Contains(f.Warnings[0].Message, `called "todo", its folder "checkout"`) {
		t.Errorf("%+v", f)
	}
	t.Run("a second plugin of the same name is skipped", func(t *testing.T) {
		r.fake("todo", "")
		found := New().Find(r.rt.Env)
		i := slices.IndexFunc(found, func(f dialect.Found) bool { return f.State == dialect.Skipped })
		if len(found) != 2 || i < 0 || !strings.Contains(found[i].Err.Error(), "another plugin is called todo") {
			t.Errorf("%+v", found)
		}
	})
}

func TestUnknownKeysAreWarnings(t *testing.T) {
	r := newRig(t)
	r.fake("p", "homepage = \"x\"\n")
	f := New().Find(r.rt.Env)[0]
	if f.State != "" || len(f.Warnings) != 1 || f.Warnings[0].Line != 7 || f.Warnings[0].Column != 1 {
		t.Errorf("%+v", f)
	}
}

func TestAt(t *testing.T) {
	r := newRig(t)
	r.fake("p", "")
	dir := filepath.Join(r.home, ".local", "share", "mine", "plugins", "p")
	for path, want := range map[string]bool{
		dir: true, filepath.Join(dir, manifestFile): true,
		filepath.Join(dir, programPrefix+"p"): false, r.home: false, filepath.Join(r.home, "missing"): false,
	} {
		if f, ok := New().At(path, r.rt.Env); ok != want || ok && (f.Path != dir || f.Name != "p") {
			t.Errorf("%s: %v, %+v", path, ok, f)
		}
	}
}

// TestFoldersAndPoints: folders and points are known before any plugin is installed.
func TestFoldersAndPoints(t *testing.T) {
	var d dialect.Dialect = New()
	folders := d.Folders(dialect.Env{Vars: []string{"HOME=/h"}})
	if want := (dialect.Folder{Dialect: "mine", Dir: "/h/.local/share/mine/plugins", Form: "NAME/mine-plugin.toml"}); len(folders) != 1 || folders[0] != want {
		t.Errorf("folders %+v", folders)
	}
	if got := fmt.Sprint(d.Points()); got != "[command.validate command.before command.after command.done]" {
		t.Errorf("points %s", got)
	}
}
