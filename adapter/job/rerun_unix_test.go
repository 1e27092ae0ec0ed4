//go:build unix

package job_test

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestAgainAsNobody runs the tests again whose results differ for root.
func TestAgainAsNobody(t *testing.T) { rerun.Tests(t, "TestTheTemporaryDirectoryMayBeReadOnly") }
