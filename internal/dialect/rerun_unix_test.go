//go:build unix

package dialect

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestBoundsAgain: the budget of unexpected output and the refusal of named pipes hold for every
// user, wherever the home directory is.
func TestBoundsAgain(t *testing.T) {
	rerun.Tests(t, "TestUnexpectedOutputHasABudget", "TestANamedPipeAsAManifest")
}
