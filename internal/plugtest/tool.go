package plugtest

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// NeedTool skips a test on a machine without a program it needs, and says so;
// where CI is true that is a failure, lest nobody notice.
func NeedTool(t testing.TB, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err == nil {
		return
	}
	if ci, _ := strconv.ParseBool(os.Getenv("CI")); ci { // what is not a truth value is not true
		t.Fatalf("%s is not installed: make test installs it where it can", name)
	}
	t.Skipf("%s is not installed; with it this test runs", name)
}
