//go:build !linux

package sandbox

import (
	"context"
	"errors"

	"github.com/patchbay-dev/patchbay/internal/proc"
)

// errNotHere is why nothing is enforced.
var errNotHere = errors.New("there is a sandbox on Linux only")

// Pack refuses: there is no sandbox on this system.
func (b *Box) Pack(proc.Launch) (*proc.Packed, error) { return nil, errNotHere }

// Probe finds that nothing can be enforced here.
func Probe(context.Context, *proc.Group) *System {
	return &System{Namespaces: errNotHere, Redirect: errNotHere, Landlock: errNotHere, Filter: errNotHere}
}
