package main

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestSignalsAgain runs the test of SIGTERM again as another user, and with a home outside of /tmp.
func TestSignalsAgain(t *testing.T) {
	rerun.Tests(t, "TestOneSIGTERMEndsEachCommand")
}
