// Package embedded opens an engine for a test of another package. It is only for tests; those of
// the engine itself cannot import it.
package embedded

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

// Engine opens an engine on dir. It is closed at the end of the test, and must close without an
// error.
func Engine(t testing.TB, dir string) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), engine.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}
