//go:build unix

package wire

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestDepthAgain: the limits on depth hold for every user.
func TestDepthAgain(t *testing.T) {
	rerun.Tests(t, "TestAReplyThatIsTooDeepFailsItsCall", "TestMessagesThatAreTooDeepAreNotPassedOn", "TestAPluginReadsDeepMessagesOfTheHost")
}
