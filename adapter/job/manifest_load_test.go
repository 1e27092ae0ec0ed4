package job

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/document"
)

// writeAgent makes a directory with the manifest of an agent in it.
func writeAgent(t testing.TB, dir, name string) string {
	t.Helper()
	return writeFile(t, filepath.Join(dir, manifestFile), fmt.Sprintf("[agent]\nname = %q\n[run]\ncommand = \"true\"\n", name))
}

func writeFile(t testing.TB, path, text string) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// link creates a symbolic link. If a user of Windows may not, it skips the test.
func link(t testing.TB, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		if runtime.GOOS != "windows" { // creating a link needs a privilege there
			t.Fatal(err)
		}
		t.Skipf("this user cannot create links: %v", err)
	}
}

// names returns the names of the agents that were found.
func names(l Loaded) string {
	list := make([]string, len(l.Manifests))
	for i, m := range l.Manifests {
		list[i] = m.Agent.Name
	}
	return strings.Join(list, " ")
}

func TestLoadDirs(t *testing.T) {
	t.Run("agents come in the order of directories, then of names", func(t *testing.T) {
		one, two := t.TempDir(), t.TempDir()
		writeAgent(t, filepath.Join(one, "b"), "last")
		writeAgent(t, filepath.Join(one, "a"), "first")
		writeAgent(t, filepath.Join(two, "a"), "other")
		if l := LoadDirs([]string{one, two}); names(l) != "first last other" || l.Broken != nil {
			t.Errorf("got %s, %v", names(l), l.Broken)
		}
	})
	t.Run("a directory that does not exist has no agents", func(t *testing.T) {
		if l := LoadDirs([]string{filepath.Join(t.TempDir(), "none")}); l.Manifests != nil || l.Broken != nil {
			t.Errorf("got %v", l)
		}
	})
	t.Run("one broken manifest never stops the others", func(t *testing.T) {
		dir := t.TempDir()
		broken := writeFile(t, filepath.Join(dir, "a", manifestFile), "[agent\n")
		writeAgent(t, filepath.Join(dir, "b"), "well")
		l := LoadDirs([]string{dir})
		if names(l) != "well" || len(l.Broken) != 1 || l.Broken[0].Path != broken {
			t.Fatalf("got %s, %v", names(l), l.Broken)
		}
		var e *document.Error
		if !errors.As(l.Broken[0].Err, &e) || e.Problems[0].Line != 1 {
			t.Errorf("got %v", l.Broken[0].Err)
		}
	})
	t.Run("of two agents with the same name the second is broken", func(t *testing.T) {
		dir := t.TempDir()
		writeAgent(t, filepath.Join(dir, "a"), "twin")
		second := writeAgent(t, filepath.Join(dir, "b"), "twin")
		l := LoadDirs([]string{dir})
		want := fmt.Sprintf("%s:2:8: agent.name: \"twin\" is the name of the agent at %s; give one of them another name", second, filepath.Join(dir, "a"))
		if names(l) != "twin" || len(l.Broken) != 1 || l.Broken[0].Err.Error() != want {
			t.Errorf("got %s, %v\nwant %s", names(l), l.Broken, want)
		}
	})
	t.Run("an agent is hidden, not broken, if a directory that is searched earlier has its name", func(t *testing.T) {
		ours, theirs := t.TempDir(), t.TempDir()
		writeAgent(t, filepath.Join(ours, "a"), "twin")
		second := writeAgent(t, filepath.Join(theirs, "a"), "twin")
		l := LoadDirs([]string{ours, theirs})
		if names(l) != "twin" || l.Broken != nil || len(l.Hidden) != 1 || l.Hidden[0].Path != second || l.Hidden[0].By != l.Manifests[0] {
			t.Errorf("got %s, %v, %v", names(l), l.Broken, l.Hidden)
		}
	})
	t.Run("entries that are not agents are ignored", func(t *testing.T) {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, "README"), "")
		writeFile(t, filepath.Join(dir, "notes", "x"), "")
		writeAgent(t, filepath.Join(dir, ".git"), "hidden")
		writeAgent(t, dir, "beside")
		if l := LoadDirs([]string{dir}); l.Manifests != nil || l.Broken != nil {
			t.Errorf("got %v", l)
		}
	})
	t.Run("a directory that is a file is broken", func(t *testing.T) {
		path := writeFile(t, filepath.Join(t.TempDir(), "file"), "")
		l := LoadDirs([]string{path})
		if len(l.Broken) != 1 || l.Broken[0].Path != path {
			t.Fatalf("got %v", l)
		}
		wantFix(t, l.Broken[0].Err, "move this file away")
	})
	t.Run("a manifest that is a directory is broken", func(t *testing.T) {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, "a", manifestFile, "x"), "")
		l := LoadDirs([]string{dir})
		if len(l.Broken) != 1 || !strings.Contains(l.Broken[0].Err.Error(), ": not a regular file") {
			t.Fatalf("got %v", l)
		}
		wantFix(t, l.Broken[0].Err, "or remove "+filepath.Join(dir, "a"))
	})
	t.Run("a manifest that may not be read is broken", func(t *testing.T) {
		path := filepath.Join("agents", "a", manifestFile)
		denied := &fs.PathError{Op: "open", Path: path, Err: syscall.EACCES} // root may read every file
		wantFix(t, unreadable(writeFile(t, filepath.Join(t.TempDir(), path), ""), denied), "chmod u+r ")
	})
	t.Run("a huge manifest is broken", func(t *testing.T) {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, "a", manifestFile), strings.Repeat("#", document.MaxSize+1))
		if l := LoadDirs([]string{dir}); len(l.Broken) != 1 || !strings.Contains(l.Broken[0].Err.Error(), "larger than") {
			t.Errorf("got %v", l)
		}
	})
	t.Run("too many agents are not all read", func(t *testing.T) {
		dir := t.TempDir()
		for i := range maxAgents + 1 {
			writeAgent(t, filepath.Join(dir, fmt.Sprintf("a%04d", i)), fmt.Sprintf("a%d", i))
		}
		if l := LoadDirs([]string{dir}); len(l.Manifests) != maxAgents || len(l.Broken) != 1 || !strings.Contains(l.Broken[0].Err.Error(), "remove this directory from [jobs] dirs") {
			t.Errorf("got %d, %v", len(l.Manifests), l.Broken)
		}
	})
}

func TestLoadDirsFollowsLinks(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	writeAgent(t, filepath.Join(elsewhere, "a"), "linked")
	link(t, filepath.Join(elsewhere, "a"), filepath.Join(dir, "a"))
	link(t, filepath.Join(elsewhere, "gone"), filepath.Join(dir, ".b"))

	t.Run("a directory may be a link", func(t *testing.T) {
		l := LoadDirs([]string{dir})
		if names(l) != "linked" || l.Broken != nil || l.Manifests[0].Dir != filepath.Join(dir, "a") {
			t.Errorf("got %v", l)
		}
	})
	t.Run("two paths to the same file are one agent", func(t *testing.T) {
		if l := LoadDirs([]string{dir, elsewhere, dir}); names(l) != "linked" || l.Broken != nil {
			t.Errorf("got %s, %v", names(l), l.Broken)
		}
	})
	for name, at := range map[string]string{
		"a manifest that is a link to nothing is broken":            "agents/a/" + manifestFile,
		"an agent's directory that is a link to nothing is broken":  "agents/a",
		"a directory of agents that is a link to nothing is broken": "agents",
		"a directory of agents behind a link to nothing is broken":  "",
	} {
		t.Run(name, func(t *testing.T) {
			top := filepath.Join(t.TempDir(), "top")
			at := filepath.Join(top, filepath.FromSlash(at))
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				t.Fatal(err)
			}
			link(t, filepath.Join(t.TempDir(), "gone"), at)
			l := LoadDirs([]string{filepath.Join(top, "agents")})
			if len(l.Broken) != 1 || !strings.Contains(l.Broken[0].Err.Error(), "the link "+at+" leads to nothing; restore ") {
				t.Errorf("got %v", l)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	t.Run("a missing file is a problem with its path", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), manifestFile)
		_, err := load(path)
		var e *document.Error
		if !errors.As(err, &e) || e.Problems[0].File != path || strings.Count(err.Error(), path) != 1 {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a device is not read", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("there is no such device")
		}
		if _, err := load(os.DevNull); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the fingerprint depends only on the content", func(t *testing.T) {
		dir := t.TempDir()
		var prints []string
		for _, name := range []string{"a", "b", "a"} {
			m, err := load(writeAgent(t, dir, name))
			if err != nil {
				t.Fatal(err)
			}
			prints = append(prints, m.Fingerprint)
		}
		if prints[0] != prints[2] || slices.Contains(prints[1:2], prints[0]) {
			t.Errorf("got %q", prints)
		}
	})
}

// TestKeep: an agent goes on as it was while its manifest, or the directory that has it, cannot be
// used.
func TestKeep(t *testing.T) {
	remove := func(path string) {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		rule   string
		change func(dir string)
		want   string // the agents; kept ones are in parentheses
	}{
		{"its manifest is wrong", func(dir string) { writeFile(t, filepath.Join(dir, "a", manifestFile), "[agent\n") }, "new (old)"},
		{"its directory is replaced by a file", func(dir string) { remove(dir); writeFile(t, dir, "") }, "(old)"},
		{"its manifest is removed", func(dir string) { remove(filepath.Join(dir, "a")) }, "new old"},
		{"its manifest is renamed", func(dir string) { writeAgent(t, filepath.Join(dir, "a"), "other") }, "other new old"},
		{"another manifest has its name", func(dir string) {
			writeFile(t, filepath.Join(dir, "a", manifestFile), "[agent\n")
			writeAgent(t, filepath.Join(dir, "b"), "old")
		}, "old"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			dirs := []string{filepath.Join(t.TempDir(), "ours"), t.TempDir()}
			writeAgent(t, filepath.Join(dirs[0], "a"), "old")
			writeAgent(t, filepath.Join(dirs[1], "a"), "old") // hidden
			before := LoadDirs(dirs)
			writeAgent(t, filepath.Join(dirs[0], "b"), "new")
			c.change(dirs[0])
			for range 2 { // it is kept for as long as its manifest cannot be used
				l := LoadDirs(dirs)
				l.Keep(before)
				var got []string
				for _, m := range l.Manifests {
					name := m.Agent.Name
					if slices.Contains(l.Kept, m) {
						name = "(" + name + ")"
					}
					got = append(got, name)
				}
				if strings.Join(got, " ") != c.want {
					t.Errorf("got %q, want %s", got, c.want)
				}
				before = l
			}
		})
	}
}

// wantFix checks that one problem has a fix that contains some text.
func wantFix(t *testing.T, err error, text string) {
	t.Helper()
	bad, ok := errors.AsType[*document.Error](err)
	if !ok || len(bad.Problems) != 1 || !strings.Contains(bad.Problems[0].Fix, text) {
		t.Errorf("%v: the fix does not say %q", err, text)
	}
}
