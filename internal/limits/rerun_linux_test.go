package limits

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestDescriptorsAgain: plugins may use a quarter of the host's descriptors, for an ordinary user
// too.
func TestDescriptorsAgain(t *testing.T) {
	rerun.Tests(t, "TestPluginsHaveAQuarterOfTheDescriptors")
}
