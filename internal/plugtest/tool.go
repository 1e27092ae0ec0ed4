package plugtest

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/machine"
)

// NeedTool skips a test on a machine without a program it needs, and says so; where CI is true that
// is a failure, lest nobody notice.
func NeedTool(t testing.TB, name string) {
	t.Helper()
	machine.Tool(t, name)
}
