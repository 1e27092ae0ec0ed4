//go:build unix

package plainfile

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestKindsAgain: only regular files are read, for any user.
func TestKindsAgain(t *testing.T) {
	rerun.Tests(t, "TestOnlyRegularFilesAreRead")
}
