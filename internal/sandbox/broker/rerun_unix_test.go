//go:build unix

package broker

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestNamesAgain: names are asked for with their final dot, and connections cost descriptors,
// whoever the user is.
func TestNamesAgain(t *testing.T) {
	rerun.Tests(t, "TestGrantedNamesAreAskedForWithTheirFinalDot", "TestSearchDomainsAreNotTried", "TestASuggestedGrantParses",
		"TestAFinalDotInAHelloIsNoOtherName", "TestConnectionsTakeDescriptors")
}
