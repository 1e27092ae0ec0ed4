//go:build unix

package python

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestBoundsAgain: the bounds on depth and unexpected output hold for every user and every place of
// the home directory.
func TestBoundsAgain(t *testing.T) {
	rerun.Tests(t, "TestAnAnswerThatIsTooDeepIsGarbled", "TestAPluginIsGivenWhatAnotherMaySend", "TestUnexpectedOutputIsBounded")
}
