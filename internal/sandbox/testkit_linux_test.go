package sandbox

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest/children"
	"github.com/patchbay-dev/patchbay/internal/plugtest/machine"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// patience bounds every wait for something that must happen. It is long because the machine may be
// busy. No test asserts how long anything takes.
const patience = time.Minute

// here returns what this machine can enforce.
var here = sync.OnceValue(func() *System {
	g := proc.NewGroup(nil)
	defer g.Close()
	return Probe(context.Background(), g)
})

// needNamespaces skips a test that needs namespaces if there are none.
func needNamespaces(t *testing.T) {
	t.Helper()
	if err := here().Namespaces; err != nil {
		machine.Lacks(t, machine.Namespaces, err)
	}
}

// needSimple skips a test of Landlock and seccomp alone if they are not available, and returns a
// system that has only these.
func needSimple(t *testing.T) *System {
	t.Helper()
	if err := errors.Join(here().Landlock, here().Filter); err != nil {
		machine.Lacks(t, machine.Landlock, err)
	}
	return &System{Namespaces: errors.New("switched off by the test"), Scoped: here().Scoped}
}

// newGroup returns a group that is closed at the end of the test, and must close without an error.
func newGroup(t testing.TB) *proc.Group {
	t.Helper()
	g := proc.NewGroup(nil)
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// testPath has the programs of the tests.
const testPath = "PATH=/usr/local/bin:/usr/bin:/bin"

// sh returns a shell script in a box, in the root directory.
func sh(o Options, script string) proc.Spec {
	return proc.Spec{Path: "/bin/sh", Args: []string{"-c", script}, Dir: "/", Env: []string{testPath, "HOME=/home/test"}, Box: New(o)}
}

// fake returns the Spec of a fake in a box.
func fake(t testing.TB, o Options, name string, args ...string) proc.Spec {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Own = append(slices.Clone(o.Own), self)
	return proc.Spec{Path: self, Args: append([]string{"-fake", name}, args...), Dir: "/", Env: []string{testPath, "HOME=/home/test"}, Box: New(o)}
}

// run runs a program to its end.
func run(t testing.TB, s proc.Spec) *proc.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	g := proc.NewGroup(nil)
	defer g.Close()
	r, err := g.Run(ctx, s, proc.Call{})
	if err != nil {
		t.Fatalf("run: %v, %+v", err, r)
	}
	return r
}

// output returns the output of a program that must succeed.
func output(t testing.TB, s proc.Spec) string {
	t.Helper()
	r := run(t, s)
	if r.Exit != (proc.Exit{}) {
		t.Fatalf("%v\nstdout: %s\nstderr: %s", r.Exit, r.Stdout, r.Stderr)
	}
	return string(r.Stdout)
}

// expect runs a program that must succeed and print want.
func expect(t testing.TB, s proc.Spec, want string) {
	t.Helper()
	if got := strings.TrimSpace(output(t, s)); got != want {
		t.Errorf("it printed\n%s\nwant\n%s", got, want)
	}
}

// startError returns the error of a program that must not start.
func startError(t testing.TB, s proc.Spec) *program.StartError {
	t.Helper()
	g := proc.NewGroup(nil)
	defer g.Close()
	r, err := g.Run(t.Context(), s, proc.Call{})
	start, ok := errors.AsType[*program.StartError](err)
	if !ok {
		t.Fatalf("not a start error: %v; %+v", err, r)
	}
	return start
}

// started starts a program that prints "up", and waits until it does.
func started(t testing.TB, g *proc.Group, s proc.Spec) *proc.Process {
	t.Helper()
	p, err := g.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	children.AwaitUp(t, p.Stdout())
	return p
}

// write creates a file, with the directories above it.
func write(t testing.TB, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// link creates a symbolic link, with the directories above it.
func link(t testing.TB, target, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

// tool returns the path of a program that a test needs.
func tool(t testing.TB, name string) string {
	t.Helper()
	for _, dir := range []string{"/usr/bin", "/bin", "/usr/local/bin"} { // not the PATH, because other users cannot run programs in a home
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	t.Skipf("%s is not installed; with it this test runs", name)
	return ""
}

// handleIgnored makes every program that the test starts react to signals. A signal that this
// process inherited as ignored (SIGHUP, by nohup) is ignored by its children too, unless it is
// handled here.
func handleIgnored(t testing.TB, signals []syscall.Signal) {
	t.Helper()
	ignored, err := strconv.ParseUint(ignoredHere(t), 16, 64) // signal.Ignored is wrong after a signal has been handled
	if err != nil {
		t.Fatal(err)
	}
	received := make(chan os.Signal, 1)
	for _, s := range signals {
		if ignored&(1<<(s-1)) != 0 {
			signal.Notify(received, s)
		}
	}
	t.Cleanup(func() { signal.Stop(received) })
}

// ignoredHere returns the signals that this process inherited as ignored, in the kernel's notation.
// For example, make lets its children ignore the two signals that the C library uses for itself. A
// program inherits those as it would without a sandbox.
func ignoredHere(t testing.TB) string {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "SigIgn:\t")
	ignored, _, _ := strings.Cut(after, "\n")
	return ignored
}
