//go:build unix

package config

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestKindsAgain: for every user, only regular files are read, and files that others may read are
// reported.
func TestKindsAgain(t *testing.T) {
	rerun.Tests(t, "TestOnlyRegularFilesAreRead", "TestExposed", "TestAPipeThatTakesTheFilesPlace")
}
