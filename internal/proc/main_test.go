//go:build unix

package proc

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/internal/plugtest/children"
)

// TestMain also runs the fakes: the test binary, started again as "binary -fake NAME ARG…",
// misbehaves as its name says. The name is an argument and not in the environment, because the
// environment is under test.
func TestMain(m *testing.M) {
	children.Play(fakes)
	goleak.VerifyTestMain(m)
}
