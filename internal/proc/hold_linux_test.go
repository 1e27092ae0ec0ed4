package proc

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/guard"
)

// printMark prints the mark that the process itself sees.
const printMark = "#!/bin/sh\ngrep realtime.timeout /proc/self/limits\n"

func TestHold(t *testing.T) {
	onlyWithMarks(t)
	script := filepath.Join(t.TempDir(), "plug")
	writeFile(t, script, printMark, 0o755)
	spec := Spec{Path: script, Env: []string{"PATH=/usr/bin:/bin"}}

	t.Run("a process is marked before it runs, in its soft and its hard limit", func(t *testing.T) {
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
	t.Run("a running process is not traced any more", func(t *testing.T) {
		g := newGroup(t)
		writeFile(t, script, "#!/bin/sh\ngrep TracerPid /proc/$$/status\n", 0o755)
		if got := output(t, g, spec); got != "TracerPid:\t0\n" {
			t.Errorf("%q", got)
		}
	})
	t.Run("a process that cannot be held runs nevertheless", func(t *testing.T) {
		g := newGroup(t)
		g.hold.impossible.Store(true)
		if got := output(t, g, spec); got != "TracerPid:\t0\n" {
			t.Errorf("%q", got)
		}
	})
	t.Run("after a program that may not start, others are still held", func(t *testing.T) {
		g := newGroup(t)
		path := filepath.Join(t.TempDir(), "plain")
		writeFile(t, path, printMark, 0o644)
		if _, err := g.Start(t.Context(), Spec{Path: path}); err == nil || g.hold.impossible.Load() {
			t.Errorf("%v, hold impossible: %v", err, g.hold.impossible.Load())
		}
	})
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
