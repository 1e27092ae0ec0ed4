//go:build unix && !linux

package conformance

import "testing"

func needLinux(t *testing.T) {
	t.Helper()
	t.Skip("what a process leaves behind, and what its sandbox refuses, is seen on Linux only")
}

func needSandbox(t *testing.T) {
	t.Helper()
	needLinux(t)
}

// noSandbox reports whether plugins cannot be confined here.
func noSandbox(*testing.T) bool { return true }
