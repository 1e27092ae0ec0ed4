//go:build unix

package broker

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestNamesAgain runs the tests of final dots, suggested grants and descriptors again, as an
// ordinary user.
func TestNamesAgain(t *testing.T) {
	rerun.Tests(t, "TestGrantedNamesAreAskedForWithTheirFinalDot", "TestSearchDomainsAreNotTried", "TestASuggestedGrantParses",
		"TestAFinalDotInAHelloIsNoOtherName", "TestConnectionsTakeDescriptors")
}
