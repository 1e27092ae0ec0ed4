//go:build !linux

package sandbox

import (
	"context"
	"errors"

	"github.com/patchbay-dev/patchbay/internal/proc"
)

// errNotHere is the reason why nothing is enforced on this system.
var errNotHere = errors.New("there is a sandbox on Linux only")

// Pack returns an error, because there is no sandbox on this system.
func (b *Box) Pack(proc.Launch) (*proc.Packed, error) { return nil, errNotHere }

// Probe reports that nothing can be enforced on this system.
func Probe(context.Context, *proc.Group) *System {
	return &System{Namespaces: errNotHere, Redirect: errNotHere, Landlock: errNotHere, Filter: errNotHere}
}
