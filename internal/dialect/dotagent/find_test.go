package dotagent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/filestate"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/program"
)

func write(t *testing.T, path string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// searched returns a dialect with its folders below one directory, and the environment that names
// them.
func searched(t *testing.T) (d *Dialect, env dialect.Env, folders []string) {
	root := t.TempDir()
	folders = []string{
		filepath.Join(root, "listed-1"), filepath.Join(root, "listed-2"),
		filepath.Join(root, "home", ".config", "dotagent", "plugins"),
		filepath.Join(root, "system"),
		filepath.Join(root, "bin-1"), filepath.Join(root, "bin-2"),
	}
	d = New()
	d.system = folders[3]
	list := func(dirs ...string) string { return strings.Join(dirs, string(os.PathListSeparator)) }
	env = dialect.Env{Vars: []string{"HOME=" + filepath.Join(root, "home"),
		"DOTAGENT_PLUGIN_PATH=" + list(folders[0], "", folders[1]), "PATH=" + list(folders[4], folders[5], "")}}
	return d, env, folders
}

// TestFindOrder: the first file of a name wins: docs/protocols/dotagent.md, row D21.
func TestFindOrder(t *testing.T) {
	d, env, folders := searched(t)
	if found := d.Find(env); len(found) != 0 {
		t.Errorf("folders that do not exist: found %v", found)
	}
	for i := len(folders) - 1; i >= 0; i-- {
		want := write(t, filepath.Join(folders[i], "dotagent-plugin-roam"), 0o755)
		found := d.Find(env)
		if len(found) != 1 || found[0].Path != want || found[0].Name != "roam" || found[0].State != "" {
			t.Errorf("place %d: found %+v, want %s", i, found, want)
		}
	}
}

func TestFind(t *testing.T) {
	d, env, folders := searched(t)
	user := folders[2]

	t.Run("plugins are listed by name, wherever they are", func(t *testing.T) {
		write(t, filepath.Join(folders[5], "dotagent-plugin-a"), 0o755)
		write(t, filepath.Join(user, "dotagent-plugin-c"), 0o755)
		write(t, filepath.Join(folders[0], "dotagent-plugin-b"), 0o755)
		var names []string
		for _, f := range d.Find(env) {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); got != "a b c" {
			t.Errorf("found %q", got)
		}
	})
	t.Run("other files and directories are not plugins", func(t *testing.T) {
		write(t, filepath.Join(user, "README"), 0o755)
		write(t, filepath.Join(user, "dotagent-plugin-"), 0o755)
		if err := os.Mkdir(filepath.Join(user, "dotagent-plugin-folder"), 0o755); err != nil {
			t.Fatal(err)
		}
		if found := d.Find(env); len(found) != 3 {
			t.Errorf("found %+v", found)
		}
	})
	t.Run("~ in the list is the home directory", func(t *testing.T) {
		env := dialect.Env{Vars: append([]string{"DOTAGENT_PLUGIN_PATH=~/mine"}, env.Vars[0])}
		want := write(t, filepath.Join(env.Home(), "mine", "dotagent-plugin-d"), 0o755)
		if found := d.Find(env); len(found) != 2 || found[1].Path != want {
			t.Errorf("found %+v", found)
		}
	})
}

func TestAFolderWithTwoNamesIsReadOnce(t *testing.T) {
	d, env, folders := searched(t)
	want := write(t, filepath.Join(folders[4], "dotagent-plugin-roam"), 0o755)
	if err := os.Symlink(folders[4], folders[5]); err != nil {
		t.Fatal(err)
	}
	if all := d.sightings(env); len(all) != 1 || all[0].path != want {
		t.Errorf("sightings %+v, want %s alone", all, want)
	}
}

// TestListingsNoticeChanges: a folder that has not changed is not read again. A plugin that is
// added or removed is noticed, even if the folder is given its old time.
func TestListingsNoticeChanges(t *testing.T) {
	dir := t.TempDir()
	one := write(t, filepath.Join(dir, "dotagent-plugin-one"), 0o755)
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	state := filestate.Of(info)
	if !state.Certain() {
		t.Skip("this system does not report when a folder was changed, so listings are not remembered")
	}
	remembered := func() *listings {
		return &listings{known: map[string]listing{dir: {state, []string{"remembered"}}}}
	}
	unchanged := remembered()
	if got := unchanged.filesIn(dir); !slices.Equal(got, []string{"remembered"}) {
		t.Errorf("unchanged: %q", got)
	}
	write(t, filepath.Join(dir, "dotagent-plugin-two"), 0o755)
	if err := os.Chtimes(dir, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	added := remembered()
	if got := added.filesIn(dir); !slices.Equal(got, []string{"dotagent-plugin-one", "dotagent-plugin-two"}) {
		t.Errorf("after a plugin was added: %q", got)
	}
	if len(added.known) != 0 {
		t.Error("a folder that has just changed is remembered")
	}
	if err := os.Remove(one); err != nil {
		t.Fatal(err)
	}
	removed := remembered()
	if got := removed.filesIn(dir); !slices.Equal(got, []string{"dotagent-plugin-two"}) {
		t.Errorf("after a plugin was removed: %q", got)
	}
}

// TestNotExecutable: a file that is not executable is reported with the chmod that fixes it, and a
// file of the same name further down does not replace it: docs/protocols/dotagent.md, row D23.
func TestNotExecutable(t *testing.T) {
	d, env, folders := searched(t)
	path := write(t, filepath.Join(folders[2], "dotagent-plugin-roam"), 0o644)
	write(t, filepath.Join(folders[4], "dotagent-plugin-roam"), 0o755)
	found := d.Find(env)
	if len(found) != 1 || found[0].State != dialect.Broken || found[0].Path != path {
		t.Fatalf("found %+v", found)
	}
	err := found[0].Err
	if !strings.Contains(err.Error(), "is not executable") || !strings.Contains(err.Error(), "chmod +x "+path) {
		t.Errorf("error %v", err)
	}
	if start, ok := errors.AsType[*program.StartError](err); !ok || start.Fix != "chmod +x "+path {
		t.Errorf("the error does not say how to fix it: %v", err)
	}
	if _, err := d.Open(t.Context(), found[0], dialect.Settings{}, plugtest.Runtime(t, t.TempDir())); err == nil {
		t.Error("a plugin that is not executable was opened")
	}
}

func TestALinkToNowhereIsBroken(t *testing.T) {
	d, env, folders := searched(t)
	if err := os.MkdirAll(folders[2], 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/nowhere", filepath.Join(folders[2], "dotagent-plugin-lost")); err != nil {
		t.Fatal(err)
	}
	found := d.Find(env)
	if len(found) != 1 || found[0].State != dialect.Broken || !strings.Contains(found[0].Err.Error(), "/nowhere") {
		t.Errorf("found %+v", found)
	}
}

func TestAt(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		file string
		mode os.FileMode
		name string // "": not a plugin of this dialect
	}{
		{"dotagent-plugin-sink-roam", 0o755, "sink-roam"},
		{"dotagent-plugin-asleep", 0o644, "asleep"},
		{"my-plugin", 0o755, ""},
	} {
		found, ok := New().At(write(t, filepath.Join(dir, c.file), c.mode), dialect.Env{})
		if ok != (c.name != "") || found.Name != c.name || ok && (found.State == dialect.Broken) != (c.mode == 0o644) {
			t.Errorf("%s: %v, %+v", c.file, ok, found)
		}
	}
	if _, ok := New().At(filepath.Join(dir, "dotagent-plugin-missing"), dialect.Env{}); ok {
		t.Error("a file that does not exist was taken for a plugin")
	}
}

func TestExamineReportsHiddenPlugins(t *testing.T) {
	d, env, folders := searched(t)
	first := write(t, filepath.Join(folders[0], "dotagent-plugin-roam"), 0o755)
	hidden := write(t, filepath.Join(folders[3], "dotagent-plugin-roam"), 0o755)
	if err := os.Symlink(folders[0], folders[5]); err != nil { // one folder with two names
		t.Fatal(err)
	}
	problems := d.Examine(env)
	if len(problems) != 1 || problems[0].Path != hidden || problems[0].Message != "plugin roam: this file is not used, because "+first+" comes first" {
		t.Errorf("problems %+v", problems)
	}
}

// TestPlacesAndPoints: folders and points are known before any plugin is installed.
func TestPlacesAndPoints(t *testing.T) {
	var d dialect.Dialect = New()
	folders := d.Folders(dialect.Env{Vars: []string{"HOME=/h", "DOTAGENT_PLUGIN_PATH=/p", "PATH=/bin"}})
	var dirs []string
	for _, p := range folders {
		dirs = append(dirs, p.Dir)
		if p.Dialect != "dotagent" || p.Form != "dotagent-plugin-NAME" {
			t.Errorf("%+v", p)
		}
	}
	if got := strings.Join(dirs, " "); got != "/p /h/.config/dotagent/plugins /usr/local/lib/dotagent/plugins" {
		t.Errorf("folders %q", got)
	}
	if got := fmt.Sprint(d.Points()); got != "[job.preflight job.sink job.notify]" {
		t.Errorf("points %s", got)
	}
}
