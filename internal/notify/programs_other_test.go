//go:build !unix

package notify

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/proc"
)

var fakes = map[string]func() int{}

func newGroup(t testing.TB) *proc.Group {
	t.Helper()
	g := proc.NewGroup(nil)
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}
