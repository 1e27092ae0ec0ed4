package proc

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestDescriptorsAgain: the descriptors of processes are counted and limited for an ordinary user
// too.
func TestDescriptorsAgain(t *testing.T) {
	rerun.Tests(t, "TestAStartThatWouldTakeTooManyDescriptorsIsRefused", "TestDescriptorsAreGivenBack",
		"TestAProcessCostsTheDescriptorsThatAreCounted")
}
