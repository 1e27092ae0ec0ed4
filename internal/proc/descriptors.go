package proc

import (
	"errors"

	"github.com/patchbay-dev/patchbay/internal/limits"
	"github.com/patchbay-dev/patchbay/internal/program"
)

const (
	// perProcess is the number of the host's descriptors for a process: three pipes, and two by
	// which the process is identified and watched. The latter exist only on Linux, but are counted
	// everywhere.
	perProcess = 5

	// perBox is the number of further descriptors for its box: the control socket.
	perBox = 1
)

// descriptors returns the number of the host's descriptors that a process of this kind uses.
func (s Spec) descriptors() int {
	if s.Box != nil {
		return perProcess + perBox
	}
	return perProcess
}

// takeFor takes the descriptors for a process that is about to be started.
func (g *Group) takeFor(s Spec, c program.Command) error {
	err := g.descriptors.Take(s.descriptors())
	if many, ok := errors.AsType[*limits.TooManyError](err); ok {
		return tooMany(c, many, err)
	}
	return err
}

// tooMany returns the error for a program for which the host has no descriptors left. many is the
// error in err that says so.
func tooMany(c program.Command, many *limits.TooManyError, err error) error {
	return &program.StartError{Path: c.File, Why: many.Error(), Fix: many.Fix(), Err: err}
}
