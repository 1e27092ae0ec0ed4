//go:build unix

package config

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestKindsAgain: only regular files are read, and files that others may read are reported, whoever
// the user is.
func TestKindsAgain(t *testing.T) {
	rerun.Tests(t, "TestWhatIsNoRegularFileIsAnErrorAtOnce", "TestExposed", "TestAPipeThatTakesTheFilesPlace")
}
