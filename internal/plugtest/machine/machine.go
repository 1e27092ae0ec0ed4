// Package machine checks what the machine that runs the tests has: programs, and features of the
// kernel. A test that lacks something is skipped, with the reason. If CI is true it fails, so that
// no part stays untested unnoticed. It does not fail for a feature that the kernel really lacks;
// the package checks that without our own code.
//
// It is only for tests. It imports nothing of ours, so that the tests of every package can use it.
package machine

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// CI reports whether tests must not be skipped because of missing programs. A value that is not a
// boolean counts as false.
func CI() bool {
	ci, _ := strconv.ParseBool(os.Getenv("CI"))
	return ci
}

// Tool skips a test that needs a program which this machine does not have, and says so. If CI is
// true it fails.
func Tool(t testing.TB, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err == nil {
		return
	}
	if CI() {
		t.Fatalf("%s is not installed: make test installs it if it can", name)
	}
	t.Skipf("%s is not installed; with it this test runs", name)
}

// A Feature is something that a kernel may have, and how to find out.
type Feature struct {
	name  string
	probe func() error
}

// Lacks skips a test that needs f, because our own code reports with err that f is missing.
func Lacks(t testing.TB, f Feature, err error) {
	t.Helper()
	if CI() {
		if really := f.probe(); really == nil {
			t.Fatalf("this machine has %s, but our own code says that it does not: %v", f.name, err)
		}
	}
	t.Skipf("no %s here: %v", f.name, err)
}
