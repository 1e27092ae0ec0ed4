package conformance

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/machine"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// needLinux does nothing: this is Linux. On other systems it skips the test.
func needLinux(*testing.T) {}

// noSandbox reports whether plugins cannot be confined here.
func noSandbox(t *testing.T) bool {
	t.Helper()
	err := possible()
	if errors.Is(err, errProbe) {
		t.Fatal(err)
	}
	return err != nil
}

var errProbe = errors.New("what can be enforced here is not known")

var possible = sync.OnceValue(func() error {
	procs := proc.NewGroup(nil)
	system := sandbox.Probe(context.Background(), procs)
	if err := procs.Close(); err != nil {
		return errors.Join(errProbe, err)
	}
	return system.Possible()
})

// needSandbox skips a test if there is no sandbox.
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
