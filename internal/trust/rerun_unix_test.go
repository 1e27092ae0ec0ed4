//go:build unix

package trust

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestAsNobody runs what depends on the user again: root reads every file.
func TestAsNobody(t *testing.T) { rerun.Tests(t, "TestUnreadable", "TestRecord") }
