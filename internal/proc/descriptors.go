package proc

import (
	"errors"

	"github.com/patchbay-dev/patchbay/internal/limits"
	"github.com/patchbay-dev/patchbay/internal/program"
)

const (
	// perProcess is what a process costs the host: three pipes, and two by which the process is
	// known and watched (on Linux; elsewhere it has none, and is counted alike).
	perProcess = 5

	// perBox is what its box costs beside that: the control socket.
	perBox = 1
)

// descriptors is how many a process of this kind costs the host.
func (s Spec) descriptors() int {
	if s.Box != nil {
		return perProcess + perBox
	}
	return perProcess
}

// takeFor takes the descriptors of a process that is about to be started.
func (g *Group) takeFor(s Spec, c program.Command) error {
	err := g.descriptors.Take(s.descriptors())
	if many, ok := errors.AsType[*limits.TooManyError](err); ok {
		return tooMany(c, many, err)
	}
	return err
}

// tooMany is the error of a program for which the host has no descriptors left; err is what led to
// it.
func tooMany(c program.Command, many *limits.TooManyError, err error) error {
	return &program.StartError{Path: c.File, Why: many.Error(), Fix: many.Fix(), Err: err}
}
