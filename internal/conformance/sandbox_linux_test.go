package conformance

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/machine"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// needLinux ends a test of what only Linux can tell.
func needLinux(*testing.T) {}

// needSandbox ends a test that needs a sandbox, where there is none.
func needSandbox(t *testing.T) {
	t.Helper()
	procs := proc.NewGroup(nil)
	system := sandbox.Probe(t.Context(), procs)
	if err := procs.Close(); err != nil {
		t.Fatal(err)
	}
	if system.Namespaces != nil {
		machine.Lacks(t, machine.Namespaces, system.Namespaces)
	}
}
