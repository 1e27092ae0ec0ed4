//go:build unix

package broker

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestNamesAgain: names are looked up with a final dot, and connections use descriptors, for an
// ordinary user too.
func TestNamesAgain(t *testing.T) {
	rerun.Tests(t, "TestGrantedNamesAreAskedForWithTheirFinalDot", "TestSearchDomainsAreNotTried", "TestASuggestedGrantParses",
		"TestAFinalDotInAHelloIsNoOtherName", "TestConnectionsTakeDescriptors")
}
