package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/patchbay-dev/patchbay/internal/demo"
)

func TestMain(m *testing.M) {
	if demo.Sample(os.Args) != nil { // the demo starts its own executable, which is this test binary
		main()
	}
	testscript.Main(m, map[string]func(){"patchbay": main, "patchbay-hook": mainHook})
}

// TestScripts runs testdata/script/*.txtar, each in its own home. The plugins in them are real
// programs.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		Setup:               setup,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   exits,
			"json":    jsonLines,
			"waitfor": waitFor,
		},
	})
}

// setup gives a script a home, makes its programs executable, and unsets variables of the tester's
// shell.
func setup(env *testscript.Env) error {
	env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
	env.Vars = append(env.Vars, quickEnd)
	env.Setenv("ACCOUNT", "$G") // the directory of the engine's only account
	for _, name := range []string{"PATCHBAY_HOME", "SCAFFOLD_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "NO_COLOR", "TERM"} {
		env.Setenv(name, "")
	}
	if err := os.MkdirAll(filepath.Join(env.WorkDir, "home"), 0o755); err != nil {
		return err
	}
	return filepath.WalkDir(env.WorkDir, makeExecutable)
}

func makeExecutable(path string, entry fs.DirEntry, err error) error {
	if err != nil || !entry.Type().IsRegular() {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(text, []byte("#!")) {
		return err
	}
	return os.Chmod(path, 0o755)
}

// exits CODE COMMAND… runs a command that must exit with this code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit interface{ ExitCode() int }
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// json N FILE checks that a file, or stdout or stderr, is N lines of JSON.
func jsonLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: json N FILE")
	}
	lines := bytes.Split(bytes.TrimSpace([]byte(ts.ReadFile(args[1]))), []byte("\n"))
	if fmt.Sprint(len(lines)) != args[0] {
		ts.Fatalf("%d lines, want %s", len(lines), args[0])
	}
	for i, line := range lines {
		if !json.Valid(line) {
			ts.Fatalf("line %d is not JSON: %q", i+1, line)
		}
	}
}

// waitfor FILE waits until a background command has made a file.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitfor FILE")
	}
	path := ts.MkAbs(args[0])
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	ts.Fatalf("%s did not appear", args[0])
}
