package proc

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestDescriptorsAgain: plugins leave the host its descriptors, whoever the user is.
func TestDescriptorsAgain(t *testing.T) {
	rerun.Tests(t, "TestAStartThatWouldTakeTooManyDescriptorsIsRefused", "TestDescriptorsAreGivenBack",
		"TestAProcessCostsTheDescriptorsThatAreCounted")
}
