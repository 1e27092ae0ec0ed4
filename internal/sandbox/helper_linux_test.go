package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

func TestProgramIn(t *testing.T) {
	dir := t.TempDir()
	helper := filepath.Join(dir, jail.Helper)
	if got := programIn(dir); got != itself {
		t.Errorf("without a helper: %s", got)
	}
	write(t, helper, "", 0o644)
	if got := programIn(dir); got != itself {
		t.Errorf("with a helper that is not executable: %s", got)
	}
	if err := os.Chmod(helper, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := programIn(dir); got != helper {
		t.Errorf("with one: %s", got)
	}
	if err := os.Chmod(helper, 0o757); err != nil {
		t.Fatal(err)
	}
	if got := programIn(dir); got != itself {
		t.Errorf("with a helper that all users may write: %s", got)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can create a file of another user")
	}
	if err := errors.Join(os.Chmod(helper, 0o755), os.Chown(helper, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	if got := programIn(dir); got != itself {
		t.Errorf("with a helper of another user: %s", got)
	}
}

// TestHelper: the real patchbay-jail builds a sandbox. If another program in its place ends without
// a report, the error says what to do.
func TestHelper(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // the user nobody must be able to start it
		t.Fatal(err)
	}
	real, other := filepath.Join(dir, jail.Helper), filepath.Join(dir, "other", jail.Helper)
	build := exec.Command("go", "build", "-o", real, "github.com/patchbay-dev/patchbay/cmd/patchbay-jail")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		if os.Geteuid() != 0 {
			t.Skipf("the helper cannot be built as this user: %v", err)
		}
		t.Fatalf("%v: %s", err, out)
	}
	write(t, other, "#!/bin/sh\nexit 3\n", 0o755)
	before := jailProgram
	t.Cleanup(func() { jailProgram = before })
	g := proc.NewGroup(nil)
	defer g.Close()
	run := func() (*proc.Result, error) {
		return g.Run(t.Context(), proc.Spec{Path: "/bin/sh", Args: []string{"-c", "echo inside; exit 7"}, Env: []string{testPath}, Box: New(Options{})}, proc.Call{})
	}
	jailProgram = func() string { return real }
	if r, err := run(); err != nil || string(r.Stdout) != "inside\n" || r.Exit.Code != 7 {
		t.Errorf("%+v, %v", r, err)
	}
	jailProgram = func() string { return other }
	if _, err := run(); err == nil || !strings.Contains(err.Error(), "install both again") {
		t.Errorf("a helper of another version: %v", err)
	}
}
