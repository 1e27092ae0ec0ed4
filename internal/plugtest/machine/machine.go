// Package machine says what the machine has on which tests run: programs and the kernel's features.
// A test that lacks something is skipped, with the reason. Where CI is true it fails, lest a whole
// part go untested in silence; but not for a feature of the kernel that the machine really has not,
// which is found out without our own code.
//
// It is for tests alone, and imports nothing of ours, so that the tests of every package can use
// it.
package machine

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// CI tells whether a test must not be skipped for what could be had. What is not a truth value is
// not true.
func CI() bool {
	ci, _ := strconv.ParseBool(os.Getenv("CI"))
	return ci
}

// Tool skips a test on a machine without a program it needs, and says so; where CI is true that is
// a failure.
func Tool(t testing.TB, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err == nil {
		return
	}
	if CI() {
		t.Fatalf("%s is not installed: make test installs it where it can", name)
	}
	t.Skipf("%s is not installed; with it this test runs", name)
}

// A Feature is something that a kernel may have, and how to find out whether it has.
type Feature struct {
	name  string
	probe func() error
}

// Lacks ends a test of what cannot be done here, as our own code says with err.
func Lacks(t testing.TB, f Feature, err error) {
	t.Helper()
	if CI() {
		if really := f.probe(); really == nil {
			t.Fatalf("this machine has %s, and our own code says that it has not: %v", f.name, err)
		}
	}
	t.Skipf("no %s here: %v", f.name, err)
}
