//go:build unix

package kaged

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestBoundsAgain: failures of storage are logged a bounded number of times for every user.
func TestBoundsAgain(t *testing.T) {
	rerun.Tests(t, "TestStorageFailuresAreLoggedABoundedNumberOfTimes")
}
