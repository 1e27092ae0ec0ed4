package main

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestSignalsAgain: one SIGTERM ends a command, whoever the user is and wherever the home lies.
func TestSignalsAgain(t *testing.T) {
	rerun.Tests(t, "TestOneSIGTERMEndsIt")
}
