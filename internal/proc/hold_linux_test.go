package proc

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/guard"
)

// printMark prints the mark that the process itself sees.
const printMark = "#!/bin/sh\ngrep realtime.timeout /proc/self/limits\n"

func TestHold(t *testing.T) {
	onlyWithMarks(t)
	script := filepath.Join(t.TempDir(), "plug")
	writeFile(t, script, printMark, 0o755)
	spec := Spec{Path: script, Env: []string{"PATH=/usr/bin:/bin"}}

	t.Run("a process is marked before it runs, soft and hard", func(t *testing.T) {
		g := newGroup(t)
		fields := strings.Fields(output(t, g, spec)) // Max realtime timeout SOFT HARD us
		soft, err := guard.ParseMark(hex(t, fields[3]) + "/" + hex(t, fields[4]))
		if err != nil || soft.Value != soft.Mask || !g.marks.all().On(soft.Value) {
			t.Errorf("%v, %v", fields, err)
		}
		if g.hold.impossible.Load() {
			t.Skip("processes cannot be held here")
		}
	})
	t.Run("it is not traced any more when it runs", func(t *testing.T) {
		g := newGroup(t)
		writeFile(t, script, "#!/bin/sh\ngrep TracerPid /proc/$$/status\n", 0o755)
		if got := output(t, g, spec); got != "TracerPid:\t0\n" {
			t.Errorf("%q", got)
		}
	})
	t.Run("where it cannot be held it runs all the same", func(t *testing.T) {
		g := newGroup(t)
		g.hold.impossible.Store(true)
		if got := output(t, g, spec); got != "TracerPid:\t0\n" {
			t.Errorf("%q", got)
		}
	})
	t.Run("a program that may not start does not end the holding", func(t *testing.T) {
		g := newGroup(t)
		path := filepath.Join(t.TempDir(), "plain")
		writeFile(t, path, printMark, 0o644)
		if _, err := g.Start(t.Context(), Spec{Path: path}); err == nil || g.hold.impossible.Load() {
			t.Errorf("%v, hold impossible: %v", err, g.hold.impossible.Load())
		}
	})
}

func TestProgramsWithRightsOfTheirOwnAreNotHeld(t *testing.T) {
	dir := t.TempDir()
	plain, setuid := filepath.Join(dir, "plain"), filepath.Join(dir, "setuid")
	script := filepath.Join(dir, "script")
	writeFile(t, plain, "#!/bin/sh\n", 0o755)
	writeFile(t, setuid, "\x7fELF", 0o755|os.ModeSetuid)
	writeFile(t, script, "#!"+setuid+"\n", 0o755)
	g := newGroup(t)
	for path, want := range map[string]bool{plain: false, setuid: true, script: true} {
		c, err := g.resolve(t.Context(), Spec{Path: path})
		if err != nil || c.free != want {
			t.Errorf("%s: %v, %v", path, c.free, err)
		}
	}
	// VFS_CAP_REVISION_2, cap_net_bind_service permitted and effective
	capability := []byte{1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	if err := unix.Setxattr(plain, "security.capability", capability, 0); err != nil {
		t.Skip("cannot set capabilities:", err)
	}
	if !g.programs.look(plain).privileged {
		t.Error("a changed attribute was not noticed")
	}
}

func TestProgramsAreReadAgainWhenChanged(t *testing.T) {
	var p programs
	path := filepath.Join(t.TempDir(), "plug")
	for _, interpreter := range []string{"/bin/sh", "/bin/bash", "/bin/ash"} {
		next := path + ".new" // replaced as an editor does: the time of change alone could be too coarse
		writeFile(t, next, "#!"+interpreter+"\n", 0o755)
		if err := os.Rename(next, path); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got := p.look(path).line.path; got != interpreter {
				t.Errorf("%s, want %s", got, interpreter)
			}
		}
	}
	if got := p.look(filepath.Join(t.TempDir(), "none")); got.line.path != "" || got.privileged {
		t.Errorf("%+v of no file", got)
	}
}

// hex turns a decimal number into the notation of marks.
func hex(t *testing.T, decimal string) string {
	t.Helper()
	value, err := strconv.ParseUint(decimal, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatUint(value, 16)
}
