package proc

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestDescriptorsAgain: plugins leave the host enough descriptors, for an ordinary user too.
func TestDescriptorsAgain(t *testing.T) {
	rerun.Tests(t, "TestAStartThatWouldTakeTooManyDescriptorsIsRefused", "TestDescriptorsAreGivenBack",
		"TestAProcessCostsTheDescriptorsThatAreCounted")
}
