package python

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/program"
)

func writeFile(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
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
	dir := filepath.Join(home, ".agent", "plugins")

	t.Run("a missing directory is fine", func(t *testing.T) {
		if found := New().Find(env); len(found) != 0 {
			t.Errorf("found %v", found)
		}
	})
	t.Run("no home is fine", func(t *testing.T) {
		if found := New().Find(dialect.Env{}); len(found) != 0 {
			t.Errorf("found %v", found)
		}
	})
	t.Run("Python files by name, without hidden ones and those that Python itself uses", func(t *testing.T) {
		for _, name := range []string{"b.py", "a.py", ".hidden.py", "_c.py", "__init__.py", "notes.txt", "c.pyc"} {
			writeFile(t, filepath.Join(dir, name), "", 0o644)
		}
		if err := os.Mkdir(filepath.Join(dir, "folder.py"), 0o755); err != nil {
			t.Fatal(err)
		}
		found := New().Find(env)
		if got := names(found); got != "_c a b" {
			t.Errorf("found %q", got)
		}
		if f := found[1]; f.Dialect != "python" || f.Path != filepath.Join(dir, "a.py") || f.Info != nil || f.State != "" {
			t.Errorf("found %+v", f)
		}
	})
	t.Run("a link is a plugin, and a link to nothing is a plugin that cannot be loaded", func(t *testing.T) {
		for link, target := range map[string]string{"link.py": "a.py", "lost.py": "nowhere.py"} {
			if err := os.Symlink(filepath.Join(dir, target), filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
		}
		if got := names(New().Find(env)); got != "_c a b link lost" {
			t.Errorf("found %q", got)
		}
	})
}

func TestAt(t *testing.T) {
	home := t.TempDir()
	env := dialect.Env{Vars: []string{"HOME=" + home}}
	for _, c := range []struct {
		name, path, text string
		mode             os.FileMode
		want             bool
	}{
		{"any Python file", "some/where/a.py", "", 0o644, true},
		{"a Python file that begins with _", "_a.py", "", 0o644, true},
		{"an executable Python file", "b.py", "x = 1\n", 0o755, true},
		{"a Python file with a #! line", "c.py", "#!/usr/bin/env python3\n", 0o644, true},
		{"not a program of another dialect", "d.py", "#!/usr/bin/env python3\n", 0o755, false},
		{"every Python file in the plugins folder", ".agent/plugins/e.py", "#!/usr/bin/env python3\n", 0o755, true},
		{"not another file", "f.txt", "", 0o644, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := writeFile(t, filepath.Join(home, filepath.FromSlash(c.path)), c.text, c.mode)
			found, ok := New().At(path, env)
			if ok != c.want || ok && (found.Path != path || found.Name != strings.TrimSuffix(filepath.Base(path), ".py")) {
				t.Errorf("found %+v, %v", found, ok)
			}
		})
	}
	t.Run("neither a missing file nor a directory", func(t *testing.T) {
		for _, path := range []string{filepath.Join(home, "nowhere.py"), home} {
			if _, ok := New().At(path, env); ok {
				t.Errorf("found %s", path)
			}
		}
	})
}

// fakePython writes a python3 to a directory that is the whole PATH.
func fakePython(t *testing.T, home, script string) dialect.Env {
	t.Helper()
	plugtest.NeedTool(t, "sh")
	writeFile(t, filepath.Join(home, "bin", "python3"), "#!/bin/sh\n"+script, 0o755)
	return dialect.Env{Vars: []string{"HOME=" + home, "PATH=" + filepath.Join(home, "bin")}}
}

// TestWithoutPython: without a usable Python all plugins are broken for that one reason:
// docs/protocols/python.md, row P16.
func TestWithoutPython(t *testing.T) {
	for _, c := range []struct {
		name, script string // "": there is no python3
		want         string
	}{
		{"none", "", "python3: it is not in the PATH"},
		{"too old", "echo 'Python 3.9.18 is too old' >&2; exit 78", "python3: it is Python 3.9.18, and Python plugins need 3.10 or newer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newRig(t)
			s.write("a", "")
			s.write("b", "")
			s.rt.Env = dialect.Env{Vars: []string{"HOME=" + s.home, "PATH=" + filepath.Join(s.home, "bin")}}
			if c.script != "" {
				s.rt.Env = fakePython(t, s.home, c.script)
			}
			s.open(dialect.Settings{})
			for _, name := range []string{"a", "b"} {
				start, ok := errors.AsType[*program.StartError](s.errs[name])
				if !ok || !strings.Contains(start.Error(), c.want) || start.Fix != installPython {
					t.Errorf("%s: %v, want %q and how to fix it", name, s.errs[name], c.want)
				}
			}
			problems := s.dialect.Probe(s.rt.Env)
			if len(problems) != 1 || problems[0].Fix != installPython ||
				!strings.Contains(problems[0].Message, "none of the 2 Python plugins here can run") || !strings.Contains(problems[0].Message, c.want) {
				t.Errorf("problems %+v", problems)
			}
		})
	}
	t.Run("a python3 that is something else", func(t *testing.T) {
		s := newRig(t)
		s.write("a", "")
		s.rt.Env = fakePython(t, s.home, "echo 'I am no snake' >&2; exit 3")
		s.open(dialect.Settings{})
		if err := s.errs["a"]; err == nil || !strings.Contains(err.Error(), "exit code 3") || !strings.Contains(err.Error(), "no snake") {
			t.Errorf("error %v", err)
		}
		if problems := s.dialect.Probe(s.rt.Env); len(problems) != 1 || !strings.Contains(problems[0].Message, "no snake") {
			t.Errorf("problems %+v", problems)
		}
	})
}

func TestProbe(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	home := t.TempDir()
	t.Run("without plugins Python is not needed", func(t *testing.T) {
		if problems := New().Probe(dialect.Env{Vars: []string{"HOME=" + home, "PATH="}}); len(problems) != 0 {
			t.Errorf("problems %+v", problems)
		}
	})
	t.Run("only Probe runs it, because every opened host calls Examine", func(t *testing.T) {
		s := newRig(t)
		s.write("a", "")
		ran := filepath.Join(s.home, "ran")
		env := fakePython(t, s.home, "echo > "+ran)
		if problems := s.dialect.Examine(env); len(problems) != 0 {
			t.Errorf("problems %+v", problems)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Error("Examine has run Python")
		}
		s.dialect.Probe(env)
		if _, err := os.Stat(ran); err != nil {
			t.Error(err)
		}
	})
	t.Run("with Python all is well", func(t *testing.T) {
		writeFile(t, filepath.Join(home, ".agent", "plugins", "a.py"), "", 0o644)
		if problems := New().Probe(dialect.Env{Vars: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}}); len(problems) != 0 {
			t.Errorf("problems %+v", problems)
		}
	})
}
