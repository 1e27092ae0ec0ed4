package kaged

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// minimal returns a manifest with the required fields and one hook.
func minimal(name string) string {
	return fmt.Sprintf("name: %s\nversion: 1.0.0\nkaged_api: 1\ndescription: a test\ncommand: [./run]\nhooks: [on_session_start]\n", name)
}

// place writes a file to the plugins directory below home.
func place(t *testing.T, home, plugin, file, content string) (dir string) {
	t.Helper()
	dir = filepath.Join(home, ".local", "share", "kaged", "plugins", plugin)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func homeEnv(home string) dialect.Env { return dialect.Env{Vars: []string{"HOME=" + home}} }

// foundAs returns one of the plugins that Find lists, by name.
func foundAs(t *testing.T, all []dialect.Found, name string) dialect.Found {
	t.Helper()
	for _, f := range all {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("%s is not among %+v", name, all)
	return dialect.Found{}
}

func TestFindReadsTheManifest(t *testing.T) {
	home := t.TempDir()
	dir := place(t, home, "notes", "manifest.yaml", `
name: notes
version: 1.2.3
kaged_api: 1
description: keeps notes
command: [./run]
capabilities: ["kaged:storage:read"]
methods: [notes.count]
hooks: [on_session_start, post_compact]
tools:
  - name: add
    description: adds a note
    parameters_schema: {type: object, properties: {text: {type: string}}}
`)
	all := New().Find(homeEnv(home))
	if len(all) != 1 {
		t.Fatalf("found %+v", all)
	}
	f := all[0]
	if f.Dialect != "kaged" || f.Name != "notes" || f.Path != dir || f.State != "" || f.Err != nil || len(f.Warnings) > 0 {
		t.Errorf("found %+v", f)
	}
	info := fmt.Sprintf("%+v", *f.Info)
	for _, want := range []string{"Version:1.2.3", "keeps notes", "[on_session_start post_compact]", "[notes.count]", "notes.add", "kaged:storage:read"} {
		if !strings.Contains(info, want) {
			t.Errorf("info %s lacks %s", info, want)
		}
	}
	if got, want := string(f.Info.Tools[0].Parameters), `{"type":"object","properties":{"text":{"type":"string"}}}`; got != want {
		t.Errorf("parameters %s, want %s", got, want)
	}
}

func TestFindLooksInXDGDataHome(t *testing.T) {
	data := t.TempDir()
	dir := filepath.Join(data, "kaged", "plugins", "p")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kaged-plugin.yaml"), []byte(minimal("p")), 0o644); err != nil {
		t.Fatal(err)
	}
	all := New().Find(dialect.Env{Vars: []string{"HOME=/nowhere", "XDG_DATA_HOME=" + data}})
	if len(all) != 1 || all[0].Path != dir || all[0].State != "" {
		t.Errorf("found %+v", all)
	}
}

func TestFindWithoutADirectory(t *testing.T) {
	for _, env := range []dialect.Env{{}, homeEnv(t.TempDir())} {
		if all := New().Find(env); len(all) > 0 {
			t.Errorf("found %+v", all)
		}
		if problems := New().Examine(env); len(problems) > 0 {
			t.Errorf("examined %+v", problems)
		}
	}
}

func TestFindOddities(t *testing.T) {
	home := t.TempDir()
	place(t, home, "both", "manifest.yaml", minimal("both"))
	place(t, home, "both", "kaged-plugin.yaml", "name: [not read]")
	place(t, home, "dirname", "manifest.yaml", minimal("othername"))
	place(t, home, "bare", "README", "no manifest here")
	place(t, home, "bad", "manifest.yaml", "name: Bad_Name\nversion: 1.0.0\nkaged_api: 0\n")
	place(t, home, "nameless", "manifest.yaml", strings.Replace(minimal("x"), "name: x\n", "", 1))
	place(t, home, "future", "manifest.yaml", strings.Replace(minimal("future"), "kaged_api: 1", "kaged_api: 2", 1))
	place(t, home, ".hidden", "manifest.yaml", minimal("hidden"))
	place(t, home, "a-twin", "manifest.yaml", minimal("twin"))
	place(t, home, "b-twin", "manifest.yaml", minimal("twin"))
	place(t, home, "huge", "manifest.yaml", minimal("huge")+"# "+strings.Repeat("x", maxManifest))
	root := filepath.Dir(place(t, home, "unreadable", "x", ""))
	if err := os.WriteFile(filepath.Join(root, "notes.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	target := t.TempDir()
	if err := os.WriteFile(filepath.Join(target, "manifest.yaml"), []byte(minimal("linked")), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"linked": target, "dangling": filepath.Join(home, "gone")} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "unreadable", "manifest.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	all := New().Find(homeEnv(home))

	t.Run("both manifests: manifest.yaml counts, with a warning", func(t *testing.T) {
		f := foundAs(t, all, "both")
		if f.State != "" || len(f.Warnings) != 1 || !strings.Contains(f.Warnings[0].Message, "kaged-plugin.yaml beside it is not") {
			t.Errorf("found %+v", f)
		}
	})
	t.Run("another name than the directory's is a warning", func(t *testing.T) {
		f := foundAs(t, all, "othername")
		if f.State != "" || len(f.Warnings) != 1 || !strings.Contains(f.Warnings[0].Message, `"dirname"`) {
			t.Errorf("found %+v", f)
		}
	})
	t.Run("a directory without a manifest is broken", func(t *testing.T) {
		f := foundAs(t, all, "bare")
		if f.State != dialect.Broken || !strings.Contains(f.Err.Error(), "no manifest.yaml") {
			t.Errorf("found %+v", f)
		}
	})
	t.Run("a manifest with problems is broken, and all are reported with line and column", func(t *testing.T) {
		f := foundAs(t, all, "bad")
		if f.State != dialect.Broken || len(f.Problems) < 4 {
			t.Fatalf("found %+v", f)
		}
		if first := f.Problems[0]; first.Line == 0 || first.Column == 0 || !strings.HasSuffix(first.Path, "manifest.yaml") {
			t.Errorf("problem %+v", first)
		}
		if text := f.Err.Error(); !strings.Contains(text, "manifest.yaml:1:") || !strings.Contains(text, "more problems") {
			t.Errorf("error %s", text)
		}
	})
	t.Run("without a name in the manifest it has its directory's name", func(t *testing.T) {
		if f := foundAs(t, all, "nameless"); f.State != dialect.Broken || len(f.Problems) != 1 || strings.Contains(f.Err.Error(), "more problem") {
			t.Errorf("found %+v", f)
		}
	})
	t.Run("another version of the API is broken", func(t *testing.T) {
		f := foundAs(t, all, "future")
		if f.State != dialect.Broken || !strings.Contains(f.Err.Error(), "version 2") {
			t.Errorf("found %+v", f)
		}
	})
	t.Run("hidden directories and files are not plugins", func(t *testing.T) {
		for _, f := range all {
			if f.Name == "hidden" || f.Name == ".hidden" || f.Name == "notes.txt" {
				t.Errorf("found %+v", f)
			}
		}
	})
	t.Run("a link to a directory is a plugin too", func(t *testing.T) {
		if f := foundAs(t, all, "linked"); f.State != "" || f.Path != filepath.Join(root, "linked") {
			t.Errorf("found %+v", f)
		}
	})
	t.Run("a link to nowhere is broken", func(t *testing.T) {
		if f := foundAs(t, all, "dangling"); f.State != dialect.Broken || !strings.Contains(f.Err.Error(), "remove it") {
			t.Errorf("found %+v", f)
		}
	})
	t.Run("a manifest that cannot be read is broken", func(t *testing.T) {
		if f := foundAs(t, all, "unreadable"); f.State != dialect.Broken || !strings.Contains(f.Err.Error(), "manifest.yaml") {
			t.Errorf("found %+v", f)
		}
	})
	t.Run("a manifest of megabytes is broken", func(t *testing.T) {
		if f := foundAs(t, all, "huge"); f.State != dialect.Broken || !strings.Contains(f.Err.Error(), "not a manifest") {
			t.Errorf("found %+v", f)
		}
	})
	t.Run("of two plugins of one name the second is skipped", func(t *testing.T) {
		var states []dialect.State
		for _, f := range all {
			if f.Name == "twin" {
				states = append(states, f.State)
			}
		}
		if len(states) != 2 || states[0] != "" || states[1] != dialect.Skipped {
			t.Errorf("states %q", states)
		}
	})
	t.Run("plugins are listed in the order of their names", func(t *testing.T) {
		for i := 1; i < len(all); i++ {
			if all[i-1].Name > all[i].Name {
				t.Errorf("%s before %s", all[i-1].Name, all[i].Name)
			}
		}
	})
}

// TestACompactorIsSole: a compactor is marked as sole, so that the host, which knows the enabled
// plugins, can choose one: docs/protocols/kaged.md, row K47.
func TestACompactorIsSole(t *testing.T) {
	home := t.TempDir()
	place(t, home, "alpha", "manifest.yaml", strings.Replace(minimal("alpha"), "[on_session_start]", "[pre_compact]\nroles: [compactor]", 1))
	place(t, home, "watcher", "manifest.yaml", strings.Replace(minimal("watcher"), "on_session_start", "pre_compact", 1))
	all := New().Find(homeEnv(home))
	if f := foundAs(t, all, "alpha"); f.State != "" || f.Sole != "compactor" {
		t.Errorf("the compactor: %+v", f)
	}
	if f := foundAs(t, all, "watcher"); f.State != "" || f.Sole != "" {
		t.Errorf("an observer: %+v", f)
	}
}

func TestAt(t *testing.T) {
	home := t.TempDir()
	dir := place(t, home, "p", "manifest.yaml", minimal("p"))
	place(t, home, "p", "kaged-plugin.yaml", minimal("second"))
	place(t, home, "p", "other.yaml", minimal("p"))
	empty := t.TempDir()
	for _, tc := range []struct {
		rule, path, name string
		ok               bool
	}{
		{"a plugin's directory", dir, "p", true},
		{"its manifest", filepath.Join(dir, "manifest.yaml"), "p", true},
		{"the manifest that was named counts", filepath.Join(dir, "kaged-plugin.yaml"), "second", true},
		{"another file is not of this dialect", filepath.Join(dir, "other.yaml"), "", false},
		{"a directory without a manifest is not of this dialect", empty, "", false},
		{"nothing there", filepath.Join(dir, "gone"), "", false},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			f, ok := New().At(tc.path, dialect.Env{})
			if ok != tc.ok || ok && (f.Name != tc.name || f.Path != dir || f.State != "") {
				t.Errorf("found %t %+v", ok, f)
			}
		})
	}
}

func TestExamineReportsAPlaceThatCannotBeRead(t *testing.T) {
	home := t.TempDir()
	parent := filepath.Join(home, ".local", "share", "kaged")
	if err := os.MkdirAll(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(parent, "plugins"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	problems := New().Examine(homeEnv(home))
	if len(problems) != 1 || problems[0].Path != filepath.Join(parent, "plugins") {
		t.Errorf("problems %+v", problems)
	}
}
