//go:build unix

package proc

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/plugtest/children"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// output runs a fake per call and returns its stdout.
func output(t testing.TB, g *Group, s Spec) string {
	t.Helper()
	result, err := g.Run(t.Context(), s, Call{})
	if err != nil {
		t.Fatal(err)
	}
	if result.Exit.Code != 0 {
		t.Fatalf("%v, stderr %q", result.Exit, result.Stderr)
	}
	return string(result.Stdout)
}

func TestEnvironment(t *testing.T) {
	t.Setenv("HOST_SECRET", "x")
	g := newGroup(t)

	t.Run("is exactly the spec's", func(t *testing.T) {
		s := fake(t, "env")
		s.Env = []string{"B=2", "A=1", "EMPTY="}
		if got := output(t, g, s); got != "B=2\nA=1\nEMPTY=\n" {
			t.Errorf("%q", got)
		}
	})
	t.Run("without an environment it is empty, not the host's", func(t *testing.T) {
		if got := output(t, g, fake(t, "env")); got != "" {
			t.Errorf("%q", got)
		}
	})
}

func TestArguments(t *testing.T) {
	g := newGroup(t)
	dir := t.TempDir()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := fake(t, "argv", "one two", "")
	s.Dir = dir

	t.Run("follow the path", func(t *testing.T) {
		if got, want := output(t, g, s), s.Path+"|-fake|argv|one two|\n"+dir+"\n"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
	t.Run("argv[0] can be named", func(t *testing.T) {
		s := s
		s.Name = "another"
		if got := output(t, g, s); !strings.HasPrefix(got, "another|") {
			t.Errorf("%q", got)
		}
	})
	t.Run("a path with a slash is relative to the working directory", func(t *testing.T) {
		writeFile(t, filepath.Join(dir, "plug"), "#!/bin/sh\necho $0\n", 0o755)
		if got := output(t, g, Spec{Path: "./plug", Dir: dir}); got != "./plug\n" {
			t.Errorf("%q", got)
		}
	})
	t.Run("a bare name is looked up in the spec's PATH", func(t *testing.T) {
		writeFile(t, filepath.Join(dir, "plug-bare"), "#!/bin/sh\necho bare\n", 0o755)
		if got := output(t, g, Spec{Path: "plug-bare", Env: []string{"PATH=/nonexistent:" + dir}}); got != "bare\n" {
			t.Errorf("%q", got)
		}
	})
	t.Run("a bare name is looked up nowhere else", func(t *testing.T) {
		for _, env := range [][]string{nil, {"PATH=."}, {"PATH="}, {"PATH=/nonexistent"}} {
			_, err := g.Run(t.Context(), Spec{Path: "plug-bare", Dir: dir, Env: env}, Call{})
			var se *program.StartError
			if !errors.As(err, &se) || !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%v: %v", env, err)
			}
		}
	})
}

func TestDescriptors(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("no /proc")
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "held"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	// The host has a descriptor without close-on-exec, as after a shell's "10>file".
	inherited, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited)
	g := newGroup(t)

	t.Run("only the three pipes reach the child", func(t *testing.T) {
		if got := output(t, g, fake(t, "descriptors")); got != "0 pipe\n1 pipe\n2 pipe\n" {
			t.Errorf("%q", got)
		}
	})
	t.Run("the files of the spec reach the child too", func(t *testing.T) {
		s := fake(t, "descriptors")
		s.Files = []*os.File{file}
		if got := output(t, g, s); got != "0 pipe\n1 pipe\n2 pipe\n3 "+file.Name()+"\n" {
			t.Errorf("%q", got)
		}
	})
	t.Run("close-on-exec is set one by one if the kernel cannot set all at once", func(t *testing.T) {
		if _, err := unix.FcntlInt(uintptr(inherited), unix.F_SETFD, 0); err != nil {
			t.Fatal(err)
		}
		if err := closeOnExec("/proc/self/fd"); err != nil {
			t.Fatal(err)
		}
		if flags, err := unix.FcntlInt(uintptr(inherited), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("%d, %v", flags, err)
		}
	})
}

func TestStart(t *testing.T) {
	g := newGroup(t)

	t.Run("the child leads its own process group", func(t *testing.T) {
		p := started(t, g, fake(t, "hang"))
		if pgid, err := syscall.Getpgid(p.Pid()); err != nil || pgid != p.Pid() {
			t.Errorf("group %d of %d, %v", pgid, p.Pid(), err)
		}
		if got := p.Exit(); got.Code != -1 || got.String() != "running" {
			t.Errorf("%+v", got)
		}
		p.Stop(t.Context(), Ladder{})
	})
	t.Run("talks over pipes with deadlines", func(t *testing.T) {
		p, err := g.Start(t.Context(), fake(t, "echo"))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Stdout().SetReadDeadline(time.Now()); err != nil {
			t.Error(err)
		}
		if _, err := p.Stdout().Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
		_ = p.Stdout().SetReadDeadline(time.Time{})
		if _, err := io.WriteString(p.Stdin(), "ping"); err != nil {
			t.Error(err)
		}
		buf := make([]byte, 4)
		if _, err := io.ReadFull(p.Stdout(), buf); err != nil || string(buf) != "ping" {
			t.Errorf("%q, %v", buf, err)
		}
		if exit := p.Stop(t.Context(), Ladder{Stdin: patience}); exit != (Exit{}) {
			t.Errorf("%v", exit)
		}
	})
	t.Run("output written before the exit can be read after it", func(t *testing.T) {
		p, err := g.Start(t.Context(), fake(t, "huge", "1000"))
		if err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		if out, err := io.ReadAll(p.Stdout()); err != nil || len(out) != 1000 {
			t.Errorf("%d bytes, %v", len(out), err)
		}
		p.Stop(t.Context(), Ladder{})
	})
	t.Run("an ended context starts nothing", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(io.ErrNoProgress)
		if _, err := g.Start(ctx, fake(t, "hang")); !errors.Is(err, io.ErrNoProgress) {
			t.Error(err)
		}
	})
	t.Run("a missing working directory is named as such", func(t *testing.T) {
		s := fake(t, "hang")
		s.Dir = filepath.Join(t.TempDir(), "none")
		_, err := g.Start(t.Context(), s)
		if err == nil || !strings.Contains(err.Error(), "its working directory "+s.Dir+" does not exist") {
			t.Error(err)
		}
	})
	t.Run("nothing to start is an error", func(t *testing.T) {
		if _, err := g.Start(t.Context(), Spec{}); err == nil {
			t.Error("started nothing")
		}
	})
}

func TestBusyFile(t *testing.T) {
	g := newGroup(t)
	path := filepath.Join(t.TempDir(), "plug")
	busyFile := func(t *testing.T) *os.File {
		program, err := os.ReadFile("/bin/true")
		if err != nil {
			t.Skip(err)
		}
		writeFile(t, path, string(program), 0o755)
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	t.Run("is tried again", func(t *testing.T) {
		file := busyFile(t)
		time.AfterFunc(10*time.Millisecond, func() { file.Close() })
		if _, err := g.Run(t.Context(), Spec{Path: path}, Call{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("is reported when it stays busy", func(t *testing.T) {
		file := busyFile(t)
		defer file.Close()
		_, err := g.Run(t.Context(), Spec{Path: path}, Call{})
		if !errors.Is(err, syscall.ETXTBSY) || !strings.Contains(err.Error(), "is busy") {
			t.Error(err)
		}
	})
	t.Run("the context ends the tries", func(t *testing.T) {
		file := busyFile(t)
		defer file.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		if _, err := g.Run(ctx, Spec{Path: path}, Call{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// TestShimsAreReplaced: a Group runs the tool of a shim. Package program tests shims themselves.
func TestShimsAreReplaced(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"shims/python3":   "#!/bin/sh\nexport PYENV_ROOT=\"" + root + "\"\nexec \"" + root + "/libexec/pyenv\" exec \"$program\" \"$@\"\n",
		"libexec/pyenv":   "#!/bin/sh\n[ \"$1\" = which ] && echo " + root + "/real/python3\n",
		"real/python3":    "#!/bin/sh\necho real \"$@\"\n",
		"beside/a-script": "#!/usr/bin/env python3\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(root, path), text, 0o755)
	}
	g := newGroup(t)
	script := filepath.Join(root, "beside/a-script")
	for range 2 {
		if got := output(t, g, Spec{Path: script, Args: []string{"verb"}, Env: []string{"PATH=" + root + "/shims:/usr/bin:/bin"}}); got != "real "+script+" verb\n" {
			t.Errorf("%q", got)
		}
	}
	if n := g.descriptors.Used(); n != 0 {
		t.Errorf("%d descriptors are counted as in use, but none is", n)
	}
}

func TestClosedGroup(t *testing.T) {
	g := NewGroup(nil)
	tok := children.Token(t)
	p := started(t, g, fake(t, "ignores-sigterm", tok))
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Error("second Close:", err)
	}
	if exit := p.Exit(); exit.Signal != "SIGKILL" {
		t.Errorf("%v", exit)
	}
	if left := children.Bearing(tok); len(left) > 0 {
		t.Errorf("alive after Close: %v", left)
	}
	_, errStart := g.Start(t.Context(), fake(t, "hang"))
	_, errRun := g.Run(t.Context(), fake(t, "hang"), Call{})
	s := g.Standby(fake(t, "hang"), 1)
	_, errStandby := s.Run(t.Context(), Call{})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, err := range []error{errStart, errRun, errStandby} {
		if !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}
}

func TestMarksAreNotGivenTwice(t *testing.T) {
	m := &marks{prefix: 1 << 61, live: make(map[uint64]struct{})}
	first := m.next()
	m.last = markMask // all numbers have been used once
	second := m.next()
	if first == second || !m.all().On(first) || !m.all().On(second) || m.one(first).On(second) {
		t.Errorf("%x, %x", first, second)
	}
	m.free(first)
	m.last = markMask
	if third := m.next(); third != first {
		t.Errorf("%x is free, got %x", first, third)
	}
}

func TestPrefix(t *testing.T) {
	t.Run("stays below a host's own mark", func(t *testing.T) {
		ceiling := newPrefix(topMark) | 5
		for range 1000 {
			if p := newPrefix(ceiling); p == 0 || p|markMask >= ceiling {
				t.Fatalf("%x under %x", p, ceiling)
			}
		}
	})
	t.Run("a low limit that was set on purpose is not changed", func(t *testing.T) {
		if p := newPrefix(leastTop - 1); p != 0 {
			t.Errorf("%x", p)
		}
	})
}

func writeFile(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // regardless of the umask
		t.Fatal(err)
	}
}
