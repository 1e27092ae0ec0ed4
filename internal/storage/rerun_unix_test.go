//go:build unix

package storage

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestQuotaAgain: the quota of storage holds for every user and wherever the data directory lies.
func TestQuotaAgain(t *testing.T) {
	rerun.Tests(t, "TestStorageOfAPluginIsLimited", "TestPutListsNoKeys", "TestAWrongRecordIsReplaced", "TestRoomThatAnotherProcessMadeIsUsed",
		"TestProcessesShareOneLimit")
}
