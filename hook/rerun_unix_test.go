//go:build unix

package hook

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestDepthAgain: the limits on depth hold for every user.
func TestDepthAgain(t *testing.T) {
	rerun.Tests(t, "TestTheDeepestEventHasATrace", "TestAPayloadThatIsTooDeepIsRefused", "TestADeepChangeIsFound")
}
