package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/internal/plugtest/children"
	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestMain also runs the fakes: the test binary, started again as "binary -fake NAME ARG…", does
// what its name says.
func TestMain(m *testing.M) {
	children.Play(fakes)
	if filepath.Base(os.Args[0]) == "env" { // shipped under that name, it prints every file that is its argument
		syscall.Exit(reads(os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

const nobody = rerun.NobodyUID

// outsidePlace names a directory outside of /tmp in which an ordinary user may create directories.
const outsidePlace = "PATCHBAY_TEST_OUTSIDE"

// TestAsNobody runs every other test again as an ordinary user. The user's own namespace must then
// do what root can do for a jail: open the files to be mounted, and change the user.
func TestAsNobody(t *testing.T) {
	if raced {
		t.Skip("hundreds of starts take too long under the race detector: make test runs this package without it, too")
	}
	if os.Geteuid() != 0 {
		t.Skip("all tests run as an ordinary user already")
	}
	if testing.Short() {
		t.Skip("takes as long as all others together")
	}
	v := rerun.Visit{UID: nobody, Args: []string{"-test.skip=^TestAsNobody$", "-test.v=" + fmt.Sprint(testing.Verbose())},
		Env: []string{outsidePlace + "=" + openDir(t, rerun.Elsewhere)}}
	t.Log("\n" + v.Run(t))
}

// openDir returns a directory that all users may enter and change.
func openDir(t *testing.T, place string) string {
	t.Helper()
	dir, err := os.MkdirTemp(place, "sandbox-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	return dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
}
