//go:build unix

package program

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fakePyenv is a pyenv in a directory. Its shim prints "shim", the interpreter that it stands for
// prints "real", and each run of "pyenv which" adds a line to the file asked.
type fakePyenv struct{ root, path, asked, real string }

func newPyenv(t *testing.T) fakePyenv {
	root := t.TempDir()
	for _, dir := range []string{"shims", "libexec", "versions/1/bin"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p := fakePyenv{
		root:  root,
		path:  "PATH=" + filepath.Join(root, "shims") + ":/usr/bin:/bin",
		asked: filepath.Join(root, "asked"),
		real:  filepath.Join(root, "versions/1/bin/python3"),
	}
	p.write(t, "version", "1\n")
	p.write(t, "shims/python3", `#!/bin/sh
set -e
program="${0##*/}"

export PYENV_ROOT="`+root+`"
exec "`+root+`/libexec/pyenv" exec "$program" "$@"
`)
	p.write(t, "libexec/pyenv", `#!/bin/sh
[ "$PYENV_ROOT" = "`+root+`" ] || exit 9
case "$1" in
which) pwd >> "`+p.asked+`"; echo "`+p.real+`" ;;
exec) shift; echo shim "$@" ;;
esac
`)
	p.write(t, "versions/1/bin/python3", "#!/bin/sh\necho real \"$0\" \"$@\"\n")
	return p
}

func (p fakePyenv) write(t *testing.T, name, text string) {
	t.Helper()
	writeFile(t, filepath.Join(p.root, name), text, 0o755)
}

func (p fakePyenv) questions() int {
	text, _ := os.ReadFile(p.asked) // missing if it was never run
	return strings.Count(string(text), "\n")
}

// newResolver returns a Resolver that runs tools as package proc does, but as plain processes.
func newResolver(t *testing.T) *Resolver {
	return NewResolver(func(ctx context.Context, q Request) ([]byte, error) {
		cmd := exec.CommandContext(ctx, q.Path, q.Args...)
		cmd.Dir, cmd.Env = q.Dir, q.Env
		return cmd.Output()
	})
}

// output runs the command to which a request is resolved, and returns its output.
func output(t *testing.T, r *Resolver, q Request) string {
	t.Helper()
	c, err := r.Resolve(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	text, err := (&exec.Cmd{Path: c.Path, Args: c.Argv, Dir: q.Dir, Env: q.Env}).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestShims(t *testing.T) {
	script := func(t *testing.T, line string) string {
		path := filepath.Join(t.TempDir(), "plug.py")
		writeFile(t, path, line+"\n", 0o755)
		return path
	}
	t.Run("are replaced by their target", func(t *testing.T) {
		p := newPyenv(t)
		r := newResolver(t)
		for _, test := range []struct{ line, args string }{
			{"#!/usr/bin/env python3", ""},
			{"#!/usr/bin/env -S python3 -u -B", "-u -B "},
			{"#!" + p.root + "/shims/python3 -u", "-u "},
		} {
			path := script(t, test.line)
			got := output(t, r, Request{Path: path, Args: []string{"verb"}, Env: []string{p.path}})
			if want := "real " + p.real + " " + test.args + path + " verb\n"; got != want {
				t.Errorf("%s: %q, want %q", test.line, got, want)
			}
		}
	})
	t.Run("the program itself may be a shim", func(t *testing.T) {
		p := newPyenv(t)
		r := newResolver(t)
		for _, path := range []string{"python3", p.root + "/shims/python3"} {
			got := output(t, r, Request{Path: path, Args: []string{"main.py"}, Env: []string{p.path}})
			if want := "real " + p.real + " main.py\n"; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	})
	t.Run("the tool is run once for all directories", func(t *testing.T) {
		p := newPyenv(t)
		r := newResolver(t)
		for range 3 {
			output(t, r, Request{Path: "python3", Env: []string{p.path}, Dir: t.TempDir()})
		}
		if n := p.questions(); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
	t.Run("the tool is run again if another version is chosen", func(t *testing.T) {
		p := newPyenv(t)
		r := newResolver(t)
		dir := t.TempDir()
		ask := func(env ...string) { output(t, r, Request{Path: "python3", Env: append(env, p.path), Dir: dir}) }
		ask()
		ask("PYENV_VERSION=2")
		writeFile(t, filepath.Join(dir, ".python-version"), "3\n", 0o644)
		ask()
		later := time.Now().Add(time.Hour)
		if err := os.Chtimes(filepath.Join(dir, ".python-version"), later, later); err != nil {
			t.Fatal(err)
		}
		ask()
		if err := os.Remove(filepath.Join(dir, ".python-version")); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(p.root, "version"), later, later); err != nil {
			t.Fatal(err)
		}
		ask()
		ask()
		if n := p.questions(); n != 5 {
			t.Errorf("asked %d times, want 5", n)
		}
	})
	t.Run("the shim itself is used if the answer is unclear", func(t *testing.T) {
		for name, pyenv := range map[string]string{
			"no answer":      "exit 1",
			"a relative one": "echo python3",
			"a missing file": "echo /nonexistent/python3",
			"another shim":   "echo $PYENV_ROOT/shims/python3",
		} {
			p := newPyenv(t)
			p.write(t, "libexec/pyenv", "#!/bin/sh\nif [ $1 = exec ]; then echo shim; else "+pyenv+"; fi\n")
			if got := output(t, newResolver(t), Request{Path: "python3", Env: []string{p.path}}); got != "shim\n" {
				t.Errorf("%s: %q", name, got)
			}
		}
	})
	t.Run("the shim itself is used if env has options", func(t *testing.T) {
		p := newPyenv(t)
		path := script(t, "#!/usr/bin/env -S A=1 python3")
		if got := output(t, newResolver(t), Request{Path: path, Env: []string{p.path}}); got != "shim python3 "+path+"\n" {
			t.Errorf("%q", got)
		}
	})
	t.Run("a script that is not executable does not run", func(t *testing.T) {
		p := newPyenv(t)
		path := script(t, "#!/usr/bin/env python3")
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := newResolver(t).Resolve(t.Context(), Request{Path: path, Env: []string{p.path}})
		if err != nil || c.Path != path {
			t.Errorf("%s would be started (%v)", c.Path, err)
		}
	})
	t.Run("shims of unknown tools are left alone", func(t *testing.T) {
		p := newPyenv(t)
		p.write(t, "shims/python3", "#!/bin/sh\necho other\n")
		if got := output(t, newResolver(t), Request{Path: "python3", Env: []string{p.path}}); got != "other\n" || p.questions() != 0 {
			t.Errorf("%q, asked %d times", got, p.questions())
		}
	})
	t.Run("a shim that looks beside the script gets the script's directory", func(t *testing.T) {
		p := newPyenv(t)
		p.write(t, "shims/ruby", `#!/bin/sh
export RBENV_DIR="${arg%/*}"
export RBENV_ROOT="`+p.root+`"
exec "`+p.root+`/libexec/rbenv" exec "$program" "$@"
`)
		p.write(t, "libexec/rbenv", "#!/bin/sh\necho $RBENV_DIR > "+p.asked+"\necho "+p.real+"\n")
		path := script(t, "#!/usr/bin/env ruby")
		output(t, newResolver(t), Request{Path: path, Env: []string{p.path}, Dir: "/"})
		if asked, _ := os.ReadFile(p.asked); string(asked) != filepath.Dir(path)+"\n" {
			t.Errorf("%q", asked)
		}
	})
}
