package plugindir

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

const (
	script = "#!/bin/sh\n"
	hooks  = "from plugins import on_final\n\n@on_final\nasync def final(ctx, text):\n    return text\n"
	kagedM = "name: notes\nversion: 1.0.0\nkaged_api: 1\ndescription: d\ncommand: [./notes.sh]\nmethods: [notes.get]\n"
)

// tree writes files below a directory called words. A file whose name ends with * is executable.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "words")
	for name, text := range files {
		mode := os.FileMode(0o644)
		if strings.HasSuffix(name, "*") {
			name, mode = strings.TrimSuffix(name, "*"), 0o755
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func id(f dialect.Found) string { return f.Dialect + ":" + f.Name }

// TestOneAndAll: `plugin test` and `plugin dev` use One, and `plugin install` uses All. They find
// these plugins.
func TestOneAndAll(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		one   string // "": none; "?": several
		all   []string
	}{
		"a program, its tests and its README": {map[string]string{"words*": script, "test.sh*": script, "words_test.sh*": script, "README.md": "", "build.sh*": script},
			"scaffold:words", []string{"scaffold:words"}},
		"a plugin in Python, its test and a module": {map[string]string{"end.py": hooks, "test_end.py": hooks, "_words.py": hooks, "setup.py": "x = 1\n"},
			"python:end", []string{"python:end"}},
		"an agent's plugin called test":      {map[string]string{"dotagent-plugin-test*": script, "lib*": script}, "dotagent:test", []string{"dotagent:test"}},
		"a tool that is called like its dir": {map[string]string{"words*": "not a program by its first bytes", "other*": script}, "scaffold:words", []string{"scaffold:other", "scaffold:words"}},
		"a directory with a manifest":        {map[string]string{"notes/manifest.yaml": kagedM, "notes/notes.sh*": script, "run-tests*": script}, "kaged:notes", []string{"kaged:notes"}},
		"code without a hook, just begun":    {map[string]string{"words.py": "x = 1\n", "README.md": ""}, "python:words", nil},
		"copies that editors leave behind":   {map[string]string{"words*": script, "words~*": script, "words.orig*": script, "words.bak*": script, "other.py.orig": hooks}, "scaffold:words", []string{"scaffold:words"}},
		"several":                            {map[string]string{"a*": script, "b*": script}, "?", []string{"scaffold:a", "scaffold:b"}},
		"nothing":                            {map[string]string{"README.md": "", ".hidden*": script, "test.sh*": script}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, c.files)
			found, err := One(dir, Options{Environ: os.Environ()})
			switch got := id(found); {
			case c.one == "" && !errors.Is(err, ErrNone), c.one == "?" && !errors.Is(err, ErrSeveral):
				t.Errorf("%s %v, want %q", got, err, c.one)
			case c.one != "" && c.one != "?" && (err != nil || got != c.one):
				t.Errorf("%s %v, want %q", got, err, c.one)
			}
			var all []string
			for _, f := range All(dir, Options{Environ: os.Environ()}) {
				all = append(all, id(f))
			}
			if slices.Sort(all); !slices.Equal(all, c.all) {
				t.Errorf("all are %q, want %q", all, c.all)
			}
		})
	}
}

// TestOneOfADialect: only plugins of the given dialect count.
func TestOneOfADialect(t *testing.T) {
	dir := tree(t, map[string]string{"end.py": hooks, "words*": script})
	for only, want := range map[string]string{"python": "python:end", "scaffold": "scaffold:words", "mine": ":"} {
		if f, err := One(dir, Options{Environ: os.Environ(), Dialects: []string{only}}); id(f) != want || (err == nil) != (want != ":") {
			t.Errorf("%s: %s %v", only, id(f), err)
		}
	}
}
