package scaffold

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

func writeFile(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
		t.Fatal(err)
	}
}

func names(found []dialect.Found) string {
	var out []string
	for _, f := range found {
		out = append(out, f.Name)
	}
	return strings.Join(out, " ")
}

func TestFind(t *testing.T) {
	home := t.TempDir()
	env := dialect.Env{Vars: []string{"HOME=" + home}}
	dir := filepath.Join(home, ".local", "scaffold", "plugins")

	t.Run("a missing directory is fine", func(t *testing.T) {
		if found := New().Find(env); len(found) != 0 {
			t.Errorf("found %v", found)
		}
	})
	t.Run("hidden files, directories and non-executables are skipped", func(t *testing.T) {
		writeFile(t, filepath.Join(dir, "b"), 0o755)
		writeFile(t, filepath.Join(dir, "a.py"), 0o700)
		writeFile(t, filepath.Join(dir, ".hidden"), 0o755)
		writeFile(t, filepath.Join(dir, "README.md"), 0o644)
		if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
			t.Fatal(err)
		}
		if got := names(New().Find(env)); got != "a b" {
			t.Errorf("found %q", got)
		}
	})
	t.Run("a link to an executable counts", func(t *testing.T) {
		if err := os.Symlink(filepath.Join(dir, "b"), filepath.Join(dir, "c")); err != nil {
			t.Fatal(err)
		}
		if got := names(New().Find(env)); got != "a b c" {
			t.Errorf("found %q", got)
		}
	})
	t.Run("the doctor mentions a script that is not executable", func(t *testing.T) {
		problems := New().Examine(env)
		if len(problems) != 1 || problems[0].Fix != "chmod +x "+filepath.Join(dir, "README.md") {
			t.Errorf("problems %+v", problems)
		}
	})
	t.Run("the doctor mentions a directory with a plugin of its name", func(t *testing.T) {
		other := t.TempDir()
		writeFile(t, filepath.Join(other, "plugins", "demo", "demo"), 0o755)
		writeFile(t, filepath.Join(other, "plugins", "data", "notes"), 0o755)
		problems := New().Examine(dialect.Env{Vars: []string{"SCAFFOLD_HOME=" + other}})
		if len(problems) != 1 || problems[0].Path != filepath.Join(other, "plugins", "demo") || !strings.Contains(problems[0].Fix, "patchbay plugin install") {
			t.Errorf("problems %+v", problems)
		}
	})
	t.Run("SCAFFOLD_HOME moves the folder", func(t *testing.T) {
		other := t.TempDir()
		writeFile(t, filepath.Join(other, "plugins", "moved"), 0o755)
		moved := dialect.Env{Vars: []string{"HOME=" + home, "SCAFFOLD_HOME=" + other}}
		if got := names(New().Find(moved)); got != "moved" {
			t.Errorf("found %q", got)
		}
	})
}
