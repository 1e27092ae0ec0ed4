package plugtest

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/machine"
)

// NeedTool skips a test that needs a program which this machine does not have, and says so. If CI
// is true it fails, so that a missing program is noticed.
func NeedTool(t testing.TB, name string) {
	t.Helper()
	machine.Tool(t, name)
}
