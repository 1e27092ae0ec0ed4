package faults

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestDepthAgain: the rows of the matrix about depth have the same result for root and for an
// ordinary user, in /tmp and elsewhere.
func TestDepthAgain(t *testing.T) {
	rerun.Tests(t, "TestMatrix/quiet/in-hook/deep", "TestMatrix/quiet/in-hook/deep-valid", "TestMatrix/quiet/in-tool/deep-valid", "TestMatrix/quiet/in-handshake/deep-valid")
}
