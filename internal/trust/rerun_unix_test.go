//go:build unix

package trust

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestAsNobody runs tests again that depend on the user: root can read every file.
func TestAsNobody(t *testing.T) { rerun.Tests(t, "TestUnreadable", "TestRecord") }
