package plugininstall

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

// A testHome is a home in which plugins are installed.
type testHome struct {
	t    *testing.T
	home string
	o    Options
}

func newTestHome(t *testing.T) *testHome {
	t.Helper()
	h := &testHome{t: t, home: t.TempDir()}
	h.locate()
	return h
}

func (h *testHome) locate() {
	h.o.Environ = []string{"HOME=" + h.home, "PATH=" + os.Getenv("PATH")}
	dirs, err := config.Locate(dialect.Env{Vars: h.o.Environ}.Get, runtime.GOOS)
	if err != nil {
		panic(err)
	}
	h.o.Dirs = dirs
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode)); err != nil {
			t.Fatal(err)
		}
	}
}

// install installs all plugins of a source.
func (h *testHome) install(source string, o PlaceOptions) ([]*Placed, error) {
	h.t.Helper()
	s, err := ParseSource(source, h.home)
	if err != nil {
		return nil, err
	}
	f, err := Fetch(context.Background(), s, h.o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := f.Close(); err != nil {
			h.t.Error(err)
		}
	}()
	if len(f.Plugins) == 0 {
		return nil, f.NothingFound()
	}
	var all []*Placed
	for _, p := range f.Plugins {
		placed, err := f.Place(context.Background(), p, o)
		if err != nil {
			return all, err
		}
		all = append(all, placed)
		if err := placed.Clean(); err != nil {
			h.t.Error(err)
		}
	}
	return all, nil
}

// files returns all files in the home, with programs marked.
func (h *testHome) files() []string {
	h.t.Helper()
	var all []string
	err := filepath.WalkDir(h.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && !strings.HasPrefix(d.Name(), ".patchbay-") {
			return err
		}
		rel, err := filepath.Rel(h.home, path)
		if info, infoErr := d.Info(); infoErr == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			rel += "*"
		}
		all = append(all, rel)
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	sort.Strings(all)
	texts := h.texts()
	return slices.DeleteFunc(all, func(f string) bool { return f == ".config/patchbay/patchbay.lock" || texts[filepath.Base(f)] })
}

// texts returns the names of the texts that the lock may have beside it: the checksums of its
// files, and one more for each plugin.
func (h *testHome) texts() map[string]bool {
	h.t.Helper()
	lock, err := trust.Load(h.o.Dirs.LockFile)
	if err != nil {
		h.t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, e := range lock.Entries {
		for _, f := range e.Files {
			names[f.Sum] = true
		}
		names[trust.NotesName(e.Files)] = true
	}
	return names
}

func (h *testHome) wants(files ...string) {
	h.t.Helper()
	if got := h.files(); !slices.Equal(got, files) {
		h.t.Errorf("there are\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(files, "\n  "))
	}
}

const (
	kagedManifest = "name: notes\nversion: 1.0.0\nkaged_api: 1\ndescription: d\ncommand: [./notes.sh]\nmethods: [notes.get]\n"
	mineManifest  = "[plugin]\nname = \"tags\"\nversion = \"1.0.0\"\ndescription = \"d\"\nauthor = \"a\"\nprotocol_version = \"1.0.0\"\n\n" +
		"[[hooks]]\ncommand = \"*\"\nstage = \"notify\"\nmode = \"notify\"\n"
	pythonPlugin = "from plugins import on_final\n\n@on_final\nasync def final(ctx, text):\n    return text\n"
	script       = "#!/bin/sh\n"
)

// TestPlaces: each plugin goes to the place of its dialect.
func TestPlaces(t *testing.T) {
	for name, c := range map[string]struct{ source, want map[string]string }{
		"kaged": {map[string]string{"manifest.yaml": kagedManifest, "notes.sh": script, ".git/config": "x", "__pycache__/x.pyc": "x"},
			map[string]string{".local/share/kaged/plugins/notes/manifest.yaml": "", ".local/share/kaged/plugins/notes/notes.sh*": ""}},
		"mine, in a directory of an archive": {map[string]string{"tags-1.0/mine-plugin.toml": mineManifest, "tags-1.0/mine-plugin-tags": script},
			map[string]string{".local/share/mine/plugins/tags/mine-plugin.toml": "", ".local/share/mine/plugins/tags/mine-plugin-tags*": ""}},
		"python":           {map[string]string{"end.py": pythonPlugin, "setup.py": "x", "README.md": "x"}, map[string]string{".agent/plugins/end.py": ""}},
		"dotagent":         {map[string]string{"dotagent-plugin-disk": script, "LICENSE": "x"}, map[string]string{".config/dotagent/plugins/dotagent-plugin-disk*": ""}},
		"scaffold":         {map[string]string{"shout.sh": script, "README.md": "x", "install.sh": script}, nil},
		"scaffold alone":   {map[string]string{"shout.sh": script, "README.md": "x"}, map[string]string{".local/scaffold/plugins/shout.sh*": ""}},
		"dotagent, a tree": {map[string]string{"dotagent-plugin-disk": script, "lib/x": "x"}, map[string]string{".config/dotagent/plugins/dotagent-plugin-disk*": "", ".local/share/patchbay/plugins/dotagent/disk/dotagent-plugin-disk*": "", ".local/share/patchbay/plugins/dotagent/disk/lib/x": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			h, source := newTestHome(t), t.TempDir()
			write(t, source, c.source)
			placed, err := h.install(source, PlaceOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if c.want == nil { // several files: a small program here, and the files elsewhere
				h.wants(".local/scaffold/plugins/shout*", ".local/share/patchbay/plugins/scaffold/shout/README.md",
					".local/share/patchbay/plugins/scaffold/shout/install.sh*", ".local/share/patchbay/plugins/scaffold/shout/shout.sh*")
			} else {
				h.wants(sorted(c.want)...)
			}
			lock, err := trust.Load(h.o.Dirs.LockFile)
			if err != nil || len(lock.Entries) != 1 || lock.Entries[0].Origin.Source != source || len(placed) != 1 {
				t.Fatalf("%+v, %v", lock, err)
			}
		})
	}
}

func sorted(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// TestSources: sources as typed, and sources that are refused before anything is started.
func TestSources(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"tree/x": "", "plain": "x", "a/b/x": ""})
	for text, want := range map[string]Source{
		"tree":                         {Kind: Directory, Text: dir + "/tree", Path: dir + "/tree"},
		"a/b":                          {Kind: Directory, Text: dir + "/a/b", Path: dir + "/a/b"},
		"tree@v1":                      {Kind: Git, Text: dir + "/tree", URL: "file://" + dir + "/tree", Ref: "v1"},
		"plain":                        {Kind: SingleFile, Text: dir + "/plain", Path: dir + "/plain"},
		"owner/repo":                   {Kind: Git, Text: "owner/repo", URL: "https://github.com/owner/repo.git"},
		"owner/repo@v1.0":              {Kind: Git, Text: "owner/repo", URL: "https://github.com/owner/repo.git", Ref: "v1.0"},
		"https://x.org/r@feature/a":    {Kind: Git, Text: "https://x.org/r", URL: "https://x.org/r", Ref: "feature/a"},
		"git@x.org:me/r.git@main":      {Kind: Git, Text: "git@x.org:me/r.git", URL: "git@x.org:me/r.git", Ref: "main"},
		"ssh://git@x.org/r":            {Kind: Git, Text: "ssh://git@x.org/r", URL: "ssh://git@x.org/r"},
		"https://x.org/r/v1.tar.gz":    {Kind: WebArchive, Text: "https://x.org/r/v1.tar.gz", URL: "https://x.org/r/v1.tar.gz"},
		"https://x.org/r.zip?token=ab": {Kind: WebArchive, Text: "https://x.org/r.zip", URL: "https://x.org/r.zip?token=ab"},
	} {
		if got, err := ParseSource(text, dir); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-x", "--upload-pack=x", "nothing", "http://x.org/r", "git://x.org/r", "ext::sh -c id", "ext::sh/x", "fd::3", "https://u:p@x.org/r",
		"owner/repo@--upload-pack=x", "owner/repo@a..b", "owner/repo@+a:b", "owner/repo@", "tree@-x", "ssh://-oProxyCommand=x/r", "-oProxyCommand=x@h:r", "git@-h:r", "git@h:-r",
		"file://host/r", "https://x.org/r?x=1", "a\nb", "https:///r", "https://hunter2@x.org/r", "https://hunter2@x.org/r.zip", "https://x.org/r?token=hunter2", "https://x:hunter2%zz@x.org/r",
		"hunter2:hunter2@x.org:r/r", "https://x.org/r.zip?token=hunter2@--x", "foo://hunter2@x.org/"} {
		if s, err := ParseSource(text, dir); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q is %+v, %v", text, s, err)
		}
	}
}

// TestReplace: an installed plugin is replaced. A plugin that was not installed, came from
// elsewhere, or was changed is replaced only with force.
func TestReplace(t *testing.T) {
	h, one, two := newTestHome(t), t.TempDir(), t.TempDir()
	write(t, one, map[string]string{"manifest.yaml": kagedManifest, "notes.sh": script})
	write(t, two, map[string]string{"manifest.yaml": strings.ReplaceAll(kagedManifest, "1.0.0", "2.0.0"), "notes.sh": script, "more": "x"})
	if _, err := h.install(one, PlaceOptions{}); err != nil {
		t.Fatal(err)
	}
	if again, err := h.install(one, PlaceOptions{}); err != nil || !again[0].Unchanged {
		t.Errorf("%+v, %v", again, err)
	}
	if dry, err := h.install(two, PlaceOptions{DryRun: true}); err != nil || !dry[0].Replaced || len(h.files()) != 2 {
		t.Errorf("%+v, %v", dry, err)
	}
	if _, err := h.install(two, PlaceOptions{}); err != nil {
		t.Fatal(err)
	}
	const at = ".local/share/kaged/plugins/notes"
	h.wants(at+"/manifest.yaml", at+"/more", at+"/notes.sh*")
	taken := func(why string) {
		t.Helper()
		_, err := h.install(one, PlaceOptions{})
		if e, ok := errors.AsType[*TakenError](err); !ok || !strings.Contains(e.Error(), why) {
			t.Errorf("%v, want %q", err, why)
		}
	}
	write(t, filepath.Join(h.home, at), map[string]string{"more": "changed"})
	taken("was changed since it was installed")
	if _, err := h.install(one, PlaceOptions{Force: true}); err != nil {
		t.Error(err)
	}
	h.wants(at+"/manifest.yaml", at+"/notes.sh*")
	if err := os.Remove(h.o.Dirs.LockFile); err != nil {
		t.Fatal(err)
	}
	taken("was not installed by Patchbay")
}

// TestShadows: a plugin cannot take the name of another in any way.
func TestShadows(t *testing.T) {
	h, source := newTestHome(t), t.TempDir()
	write(t, h.home, map[string]string{".local/share/kaged/plugins/mine-own/manifest.yaml": kagedManifest, ".local/share/kaged/plugins/mine-own/notes.sh": script})
	write(t, source, map[string]string{"manifest.yaml": kagedManifest, "notes.sh": script})
	_, err := h.install(source, PlaceOptions{Force: true})
	if _, ok := errors.AsType[*TakenError](err); !ok {
		t.Errorf("%v", err)
	}
	write(t, source, map[string]string{"manifest.yaml": strings.Replace(kagedManifest, "name: notes", "name: ../../x", 1)})
	if _, err := h.install(source, PlaceOptions{}); err == nil {
		t.Error("a name that leads out is installed")
	}
	h.wants(".local/share/kaged/plugins/mine-own/manifest.yaml", ".local/share/kaged/plugins/mine-own/notes.sh*")
}

// TestUpdateGrantsNothing: capabilities that an update adds are withheld.
func TestUpdateGrantsNothing(t *testing.T) {
	h, source := newTestHome(t), t.TempDir()
	write(t, source, map[string]string{"manifest.yaml": kagedManifest + "capabilities: [\"read:fs:/a\"]\n", "notes.sh": script})
	if placed, err := h.install(source, PlaceOptions{}); err != nil || !slices.Equal(placed[0].Capabilities, []string{"read:fs:/a"}) {
		t.Fatal(err)
	}
	write(t, source, map[string]string{"manifest.yaml": kagedManifest + "capabilities: [\"read:fs:/a\", \"read:fs:/b\"]\n"})
	placed, err := h.install(source, PlaceOptions{Update: true})
	if err != nil || !slices.Equal(placed[0].Capabilities, []string{"read:fs:/a"}) || !slices.Equal(placed[0].Withheld, []string{"read:fs:/b"}) {
		t.Errorf("%+v, %v", placed, err)
	}
	lock, err := trust.Load(h.o.Dirs.LockFile)
	if err != nil || !slices.Equal(lock.Entries[0].Capabilities, []string{"read:fs:/a"}) {
		t.Errorf("%+v, %v", lock, err)
	}
}

// TestHints: the commands that may be needed are those of the plugin's own tools. They change its
// files, so the last one trusts the plugin.
func TestHints(t *testing.T) {
	for _, c := range []struct {
		name, file string
		want       []string
	}{
		{"nothing to build", "data.json", []string{}},
		{"packages of npm", "package-lock.json", []string{"npm install", "patchbay plugin trust notes"}},
		{"packages of bun", "bun.lock", []string{"bun install", "patchbay plugin trust notes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, source := newTestHome(t), t.TempDir()
			files := map[string]string{"manifest.yaml": kagedManifest, "notes.sh": script, c.file: "{}"}
			if len(c.want) > 0 {
				files["package.json"] = "{}"
			}
			write(t, source, files)
			placed, err := h.install(source, PlaceOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got := placed[0].Hints
			for i := range got {
				_, command, cut := strings.Cut(got[i], " && ")
				if cut {
					got[i] = command
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("hints %q, want %q", got, c.want)
			}
		})
	}
}

// TestRemove: a plugin in a place of its dialect is removed, with its files elsewhere; of a link
// only the link is removed.
func TestRemove(t *testing.T) {
	h, source := newTestHome(t), t.TempDir()
	write(t, source, map[string]string{"shout.sh": script, "lib/x": "x"})
	placed, err := h.install(source, PlaceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Remove(h.o, scaffold, "shout", placed[0].Path, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Clean(); err != nil {
		t.Error(err)
	}
	h.wants()
	if lock, err := trust.Load(h.o.Dirs.LockFile); err != nil || len(lock.Entries) != 0 {
		t.Errorf("%+v, %v", lock, err)
	}
	link := filepath.Join(h.home, ".local/share/kaged/plugins/dev")
	if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(source, link)); err != nil {
		t.Fatal(err)
	}
	r, err = Remove(h.o, kaged, "dev", link, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Clean(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(source + "/shout.sh"); err != nil {
		t.Error("the target of a link was removed")
	}
	if _, err := Remove(h.o, dotagent, "x", "/usr/bin/dotagent-plugin-x", false); err == nil {
		t.Error("a program of the system was removed")
	}
}
